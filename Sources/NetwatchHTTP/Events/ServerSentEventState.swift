/// What a stream of server-sent events is doing.
public enum ServerSentEventState: Hashable, Sendable {
  /// The stream waits for a server's answer, or for its first reader.
  case connecting
  /// The server has answered, and sends events.
  case open
  /// A connection has ended, and the next one is made at this time, or when the path to the network is back.
  case waiting(until: ContinuousClock.Instant)
  /// The stream has ended, and no connection is made any more.
  case closed
}
