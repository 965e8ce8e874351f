/// The state of a stream of server-sent events.
public enum ServerSentEventState: Hashable, Sendable {
  /// The stream waits for the response of a server, or for its first reader.
  case connecting
  /// The server has answered, and can send events.
  case open
  /// A connection has ended. The next one is made at this time, or when the path to the network returns.
  case waiting(until: ContinuousClock.Instant)
  /// The stream has ended and does not reconnect.
  case closed
}
