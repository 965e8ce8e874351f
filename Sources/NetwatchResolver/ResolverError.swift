import Netwatch
import NetwatchEventLoop

/// An error of a host name lookup.
package struct ResolverError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of the error.
  package enum Kind: Hashable, Sendable {
    /// A server reports that the name does not exist.
    case noSuchName
    /// The name exists, but has no address.
    case noAddress
    /// No server has answered in time.
    case timedOut
    /// No server accepts the request: none is reachable, or each one refuses or fails.
    case noServer
    /// Another error, such as a malformed response.
    case other

    /// Whether it is certain that there are no addresses now.
    package var isDefinite: Bool { self == .noSuchName || self == .noAddress }
  }

  /// The kind of the error.
  package let kind: Kind
  /// The name that was looked up.
  package let name: String
  /// The call that failed, as in its manual page.
  package let operation: String
  /// The code of the error: that of c-ares if the operation is a call of c-ares, else the value of `errno`.
  package let code: CInt
  /// The text of the library or the system for `code`.
  package let message: String

  /// A sentence about the error for people.
  package var description: String {
    switch kind {
    case .noSuchName: "there is no host with the name \(name)"
    case .noAddress: "\(name) has no address"
    case .timedOut: "no name server has answered for \(name) in time"
    case .noServer: "no name server takes a question about \(name) (\(operation): \(message))"
    case .other: "\(name) cannot be looked up (\(operation): \(message))"
    }
  }
}

extension ResolverError {
  init(_ error: SystemError, for name: HostName) {
    self.init(kind: .other, name: name.text, operation: error.operation, code: error.code, message: error.message)
  }
}
