import HTTPTypes

/// Options for a stream of server-sent events: when it connects again, and its limits.
public struct ServerSentEventOptions: Sendable {
  /// The ID of the last event that an earlier stream has received. The server is asked for the events after it. Default:
  /// empty, which asks for none in particular.
  public var lastEventID = ""
  /// The time to wait before a new connection if the server has not sent a `retry` field. Default: 3 seconds.
  ///
  /// If connections fail one after the other, each wait is about twice as long as the one before, with a random part, up to
  /// ``maximumRetryDelay``. The random part keeps many clients of one server from coming back at the same moment.
  public var retryDelay: Duration = .seconds(3)
  /// The longest wait before a new connection, whatever the server asks for. Default: 60 seconds.
  public var maximumRetryDelay: Duration = .seconds(60)
  /// The number of failures in a row after which the stream ends with the error of the last one. Default: nil, which means
  /// that it never gives up, as in the specification.
  ///
  /// A connection that brings at least one byte of the stream ends the row.
  public var maximumFailures: Int?
  /// The status codes after which the client connects again, as after a failure. Default: none. With 502 and 503, a stream
  /// outlives the restart of a server behind a reverse proxy. Any other status than 200 and 204 ends the stream with an error.
  public var retriedStatusCodes: Set<Int> = []
  /// How long a connection may bring nothing before it is given up and made again. Default: nil, no limit, because a server
  /// may have nothing to say for days.
  ///
  /// If your server sends comments to keep connections open, use two or three times their interval: a server that has lost its
  /// power says nothing either, and the connection would stay open for ever.
  public var idleTimeout: Duration?
  /// The most bytes that one event may have. A longer event, or a longer line, ends the stream with `responseTooLarge`.
  /// Default: 16 MiB.
  public var maximumEventBytes = 16 * 1_024 * 1_024
  /// Called with each new state of the stream, in order, by the executor of the task's options. Default: nil.
  public var onStateChange: (@Sendable (ServerSentEventState) -> Void)?

  /// Creates the default options.
  public init() {}
}
