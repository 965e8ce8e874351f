/// The error of a monitor that could not start or had to end.
public struct NetworkMonitorError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the system call that failed, as in its manual page.
  public let operation: String
  /// The system's error number.
  public let code: Int32
  /// One sentence that tells a person what failed.
  public let description: String

  /// Creates an error from the name of the failed call, the system's error number and a sentence for a person.
  public init(operation: String, code: Int32, description: String) {
    self.operation = operation
    self.code = code
    self.description = description
  }
}
