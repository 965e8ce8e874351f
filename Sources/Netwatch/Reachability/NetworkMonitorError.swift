/// Why a monitor could not start, or had to end.
public struct NetworkMonitorError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The call that failed, as in its manual page.
  public let operation: String
  /// The system's error number.
  public let code: Int32
  /// One sentence for a person.
  public let description: String

  public init(operation: String, code: Int32, description: String) {
    self.operation = operation
    self.code = code
    self.description = description
  }
}
