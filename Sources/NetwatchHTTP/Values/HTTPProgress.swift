/// How far a task has come, in bytes of its bodies.
public struct HTTPProgress: Hashable, Sendable {
  public internal(set) var sent: Int64 = 0
  /// Nil where it is not known.
  public internal(set) var totalToSend: Int64?
  /// Without content encodings.
  public internal(set) var received: Int64 = 0
  /// Nil where it is not known before the end: the body is compressed, or comes in chunks.
  public internal(set) var totalToReceive: Int64?

  public init() {}
}
