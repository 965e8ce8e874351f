/// The progress of a task, in bytes of its bodies.
public struct HTTPProgress: Hashable, Sendable {
  /// The bytes of the request body that were sent.
  public internal(set) var sent: Int64 = 0
  /// The length of the request body. Nil if it is not known.
  public internal(set) var totalToSend: Int64?
  /// The bytes of the response body that were received, counted after its content encoding is removed.
  public internal(set) var received: Int64 = 0
  /// The length of the response body. Nil if it is not known before the end, because the body is compressed or comes in chunks.
  public internal(set) var totalToReceive: Int64?

  /// Creates the progress of a task that has not begun.
  public init() {}
}
