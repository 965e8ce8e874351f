import NetwatchLibC

/// The error of a failed system call: which call, and why.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the call, as in its manual page.
  public let operation: String
  /// The value of `errno` after the call.
  public let code: CInt
  /// A sentence for people that says more than the system's text; nil for none.
  private let sentence: String?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - operation: The name of the call, as in its manual page.
  ///   - code: The value of `errno`.
  public init(operation: String, code: CInt) { self.init(operation: operation, code: code, sentence: nil) }

  /// Creates an error with a sentence for people, which becomes its description.
  package init(operation: String, code: CInt, sentence: String?) {
    self.operation = operation
    self.code = code
    self.sentence = sentence
  }

  /// Returns the error of the call that has just failed, from `errno`.
  package static func last(_ operation: String) -> SystemError {
    SystemError(operation: operation, code: errno)
  }

  /// Whether the reason passes: the system, or another process, has no room at the moment. The same call may succeed later.
  package var isPassing: Bool { Self.isPassing(code) }

  /// Whether a value of `errno` is a reason that passes.
  package static func isPassing(_ code: CInt) -> Bool {
    [EAGAIN, EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOSPC].contains(code)
  }

  /// The system's text for `code`.
  public var message: String { unsafe String(cString: strerror(code)) }

  /// Whether there is no room for more bytes: on the disk, in the quota, or because the file has reached the largest size that
  /// this process may give it (RLIMIT_FSIZE) or that its file system allows.
  package var isLackOfRoom: Bool { [ENOSPC, EDQUOT, EFBIG].contains(code) }

  /// The name of the call and the system's text for `code`, or a sentence that says more.
  public var description: String { sentence ?? "\(operation): \(message)" }
}
