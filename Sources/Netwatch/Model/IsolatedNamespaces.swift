/// The namespaces that this process does not share with the machine's first process, as in a container.
package struct IsolatedNamespaces: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// A user namespace: not every user of the machine exists here.
  package static let users = IsolatedNamespaces(rawValue: 1)
  /// A network namespace.
  package static let network = IsolatedNamespaces(rawValue: 2)
}
