import HTTPTypes

/// The events of a server, for one reader, over as many connections as that takes (WHATWG HTML, section 9.2).
///
/// ```swift
/// for try await event in session.serverSentEvents(from: request) where event.type == "price" { show(event.data) }
/// ```
///
/// If a connection ends or fails, a new one asks for the events after the last one that has come. It is made after the time
/// that the server asks for, and at once when the session's ``PathSource`` says that the path to the network is back.
///
/// The first connection is made when the first event is awaited. A server that is faster than the reader is made to wait. When
/// nobody holds this value or an iterator of it any more, the connection is closed. A task that is cancelled ends the stream,
/// which then fails with `cancelled`. The stream keeps its session.
public struct ServerSentEvents: AsyncSequence, Sendable {
  public typealias Element = ServerSentEvent
  public typealias Failure = HTTPError

  /// The iterator of a stream of server-sent events.
  public struct Iterator: AsyncIteratorProtocol {
    let source: EventSource

    /// Waits for the next event.
    ///
    /// - Returns: nil after the end: the server has answered 204, or the request may not be repeated and its response is
    ///   complete.
    /// - Throws: `badServerResponse` for a status that is neither 200 nor 204, `cannotDecodeContentData` for a response of
    ///   another type, `responseTooLarge` for an event above the limit, `cancelled`, or what another connection cannot help.
    public mutating func next() async throws(HTTPError) -> ServerSentEvent? { try await source.next() }

    /// Waits for the next event, as `next()` does.
    public mutating func next(isolation: isolated (any Actor)?) async throws(HTTPError) -> ServerSentEvent? {
      try await source.next()
    }
  }

  let source: EventSource

  /// What the stream is doing now. ``ServerSentEventOptions/onStateChange`` is told of each change.
  public var state: ServerSentEventState { source.phase }

  /// Returns an iterator. All iterators share the connection: an event goes to one of them.
  public func makeAsyncIterator() -> Iterator { Iterator(source: source) }
}

extension HTTPSessionManager {
  /// Returns the server-sent events that a request asks for, over as many connections as that takes.
  ///
  /// The fields `Accept: text/event-stream` and `Cache-Control: no-store` are added unless the request has fields of these
  /// names. The activity indicator does not show the connection.
  ///
  /// A request is sent again only if its method is GET, or if ``HTTPTaskOptions/allowsRepetition`` says that the server
  /// recognizes a repetition. Otherwise the stream ends with the response, or with the error that interrupted it.
  ///
  /// - Parameters:
  ///   - request: The request of each connection: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body of the request. Default: nil, which leaves it to the request.
  ///   - options: When to connect again, and limits.
  ///   - taskOptions: The options of each connection. Those that are not set are the session's. The time in
  ///     ``HTTPTaskOptions/timeout`` is for the head of a response; ``HTTPTaskOptions/totalTimeout``,
  ///     ``HTTPTaskOptions/maximumResponseBytes``, ``HTTPTaskOptions/reachabilityTimeout``,
  ///     ``HTTPTaskOptions/retriesWhenReachable`` and ``HTTPTaskOptions/isIndicated`` are not used.
  public func serverSentEvents(
    from request: some RequestConvertible, body: HTTPBody? = nil, options: ServerSentEventOptions = .init(),
    taskOptions: HTTPTaskOptions = HTTPTaskOptions()
  ) -> ServerSentEvents {
    ServerSentEvents(source: EventSource(self, prepare(request, body, taskOptions, .stream), options))
  }
}
