import Glibc

/// A system call that failed: which one, and why.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the call, as in its manual page.
  public let operation: String
  /// The value of `errno` right after it.
  public let code: CInt

  public init(operation: String, code: CInt) {
    self.operation = operation
    self.code = code
  }

  /// The error of the call that just failed.
  package static func last(_ operation: String) -> SystemError {
    SystemError(operation: operation, code: errno)
  }

  /// The system's own words for `code`.
  public var message: String { unsafe String(cString: strerror(code)) }

  public var description: String { "\(operation): \(message)" }
}
