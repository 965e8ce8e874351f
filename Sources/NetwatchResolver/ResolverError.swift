import Netwatch
import NetwatchEventLoop

/// A host name that could not be looked up.
package struct ResolverError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable {
    /// A server knows that there is no such name.
    case noSuchName
    /// The name is there, and has no address.
    case noAddress
    /// Nobody has answered in time.
    case timedOut
    /// No server takes the question: none is reached, or each one refuses or fails.
    case noServer
    /// Anything else, such as an answer that makes no sense.
    case other

    /// Whether it is known now that there are no addresses.
    package var isDefinite: Bool { self == .noSuchName || self == .noAddress }
  }

  package let kind: Kind
  /// What was looked up.
  package let name: String
  /// The call that failed, as in its manual page.
  package let operation: String
  /// Its own number for it: c-ares's, where the operation is one of c-ares, otherwise the value of `errno`.
  package let code: CInt
  /// The words of the library or of the system for `code`.
  package let message: String

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
