import HTTPTypes

/// One event of a stream of server-sent events (WHATWG HTML, section 9.2).
public struct ServerSentEvent: Hashable, Sendable {
  /// The name of the event. Default: "message", which is what the specification uses for an event without a name.
  public let type: String
  /// The text of the event. The lines of an event with several `data` fields are joined by line feeds.
  public let data: String
  /// The last event ID that the server has sent, with this event or with an earlier one. Empty if the server has sent none.
  ///
  /// A new connection asks the server for the events after this one. To continue after the program has restarted, store this
  /// text and pass it as ``ServerSentEventOptions/lastEventID``.
  public let id: String

  /// Creates an event, for example for a test.
  ///
  /// - Parameters:
  ///   - type: The name of the event. Default: "message".
  ///   - data: The text of the event.
  ///   - id: The last event ID. Default: empty.
  public init(type: String = "message", data: String, id: String = "") {
    self.type = type
    self.data = data
    self.id = id
  }
}

/// Options for a stream of server-sent events: its reconnection rules and its limits.
public struct ServerSentEventOptions: Sendable {
  /// The ID of the last event that an earlier stream has received. The server is asked for the events after it. Default: empty,
  /// no particular event.
  public var lastEventID = ""
  /// The time to wait before a new connection if the server has not sent a `retry` field. Default: 3 seconds.
  ///
  /// If several connections fail in succession, each wait is about twice as long as the one before, with a random part, up to
  /// ``maximumRetryDelay``. The random part prevents the clients of a server from reconnecting at the same moment.
  public var retryDelay: Duration = .seconds(3)
  /// The longest time to wait before a new connection, whatever the server asks for. Default: 60 seconds.
  public var maximumRetryDelay: Duration = .seconds(60)
  /// The number of successive failures after which the stream ends with the last error. Default: nil, the stream never gives
  /// up, as in the specification.
  ///
  /// A connection that receives at least one byte of the stream resets the number.
  public var maximumFailures: Int?
  /// The status codes after which the client reconnects as after a failure. Default: none. With 502 and 503, a stream survives
  /// the restart of a server behind a reverse proxy. Any other status except 200 and 204 ends the stream with an error.
  public var retriedStatusCodes: Set<Int> = []
  /// The longest time in which a connection may receive nothing. After it, the stream reconnects. Default: nil, no limit,
  /// because a server may send nothing for days.
  ///
  /// If your server sends comments to keep connections open, use two or three times their interval. Without a limit, the
  /// connection to a server that has lost its power would stay open forever.
  public var idleTimeout: Duration?
  /// The largest event or line, in bytes. A larger one ends the stream with `responseTooLarge`. Default: 16 MiB.
  public var maximumEventBytes = 16 * 1_024 * 1_024
  /// A closure that the executor of the task's options calls with each new state of the stream, in order. Default: nil.
  public var onStateChange: (@Sendable (ServerSentEventState) -> Void)?

  /// Creates the default options.
  public init() {}
}

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
