import HTTPTypes

/// The events of a server as a sequence for one reader. It reconnects whenever that is needed (WHATWG HTML, section 9.2).
///
/// ```swift
/// for try await event in session.serverSentEvents(from: request) where event.type == "price" { show(event.data) }
/// ```
///
/// If a connection ends or fails, a new one asks for the events after the last one received. It is made after the time that the
/// server asks for, or at once when the session's ``PathSource`` reports that the path to the network has returned.
///
/// The first connection is made when you await the first event. Back-pressure slows down a server that is faster than the
/// reader. The connection is closed when this value and its iterators are released. Cancelling the Swift task ends the stream,
/// which then fails with `cancelled`. The stream keeps its session alive.
public struct ServerSentEvents: AsyncSequence, Sendable {
  /// The elements of the sequence: events.
  public typealias Element = ServerSentEvent
  /// The error type of the sequence.
  public typealias Failure = HTTPError

  /// The iterator of a stream of server-sent events.
  public struct Iterator: AsyncIteratorProtocol {
    let source: EventSource

    /// Waits for the next event.
    ///
    /// - Returns: The event. Nil at the end: the server has answered 204, or the response is complete and the request may not
    ///   be repeated.
    /// - Throws: `badServerResponse` for a status other than 200, 204 and those in
    ///   ``ServerSentEventOptions/retriedStatusCodes``, `cannotDecodeContentData` for a response of another type, `responseTooLarge` for an event above the limit, `cancelled`, or an error that a new connection would not solve.
    public mutating func next() async throws(HTTPError) -> ServerSentEvent? { try await source.next() }

    /// Waits for the next event on the caller's actor, as `next()` does.
    public mutating func next(isolation: isolated (any Actor)?) async throws(HTTPError) -> ServerSentEvent? {
      try await source.next()
    }
  }

  let source: EventSource

  /// The present state of the stream. ``ServerSentEventOptions/onStateChange`` reports each change.
  public var state: ServerSentEventState { source.phase }

  /// Returns an iterator. All iterators share the connection, and each event goes to one of them. Only one task may wait for an
  /// event at a time. If a second task waits, its `next()` throws an ``HTTPError`` of the kind `other`.
  public func makeAsyncIterator() -> Iterator { Iterator(source: source) }
}

extension HTTPSessionManager {
  /// Returns the server-sent events of a request, and reconnects whenever that is needed.
  ///
  /// The fields `Accept: text/event-stream` and `Cache-Control: no-store` are added unless the request already has them. The
  /// activity indicator does not show the connection.
  ///
  /// A request is sent again only if its method is GET, or if ``HTTPTaskOptions/allowsRepetition`` is set. Otherwise the stream
  /// ends with the response, or with the error that interrupted it.
  ///
  /// - Parameters:
  ///   - request: The request of each connection: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body of the request. Default: nil, the body of the call, if it has one.
  ///   - options: The reconnection rules and limits of the stream.
  ///   - taskOptions: The options of each connection. Options that are not set come from the session.
  ///     ``HTTPTaskOptions/timeout`` is the time to wait for the head of a response. ``HTTPTaskOptions/totalTimeout``,
  ///     ``HTTPTaskOptions/maximumResponseBytes``, ``HTTPTaskOptions/reachabilityTimeout``,
  ///     ``HTTPTaskOptions/retriesWhenReachable`` and ``HTTPTaskOptions/isIndicated`` are not used.
  public func serverSentEvents(
    from request: some RequestConvertible, body: HTTPBody? = nil, options: ServerSentEventOptions = .init(),
    taskOptions: HTTPTaskOptions = HTTPTaskOptions()
  ) -> ServerSentEvents {
    let defaults: HTTPFields = [.accept: "text/event-stream", .cacheControl: "no-store"]
    let plan = plan(request, body, taskOptions, .stream, defaults: defaults)
    return ServerSentEvents(source: EventSource(self, plan, options))
  }
}
