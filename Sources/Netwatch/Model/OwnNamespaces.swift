/// The namespaces in which this process is apart from the machine's first process, as in a container.
package struct OwnNamespaces: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Not every user of the machine exists here.
  package static let users = OwnNamespaces(rawValue: 1)
  package static let network = OwnNamespaces(rawValue: 2)
}
