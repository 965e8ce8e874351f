import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// Carries out the effects of an ``EventSourceMachine`` for a reader. It reads only while the reader waits for an event.
final class EventSource: Sendable {
  fileprivate struct State: Sendable {
    var machine: EventSourceMachine
    var parser: EventStreamParser
    /// The events that have arrived and are kept in order, and in `next` the index of the first unread one.
    var events: [ServerSentEvent] = []
    var next = 0
    var connection: EventConnection?
    var timer: Task<Void, Never>?
    var path: (source: any PathSource, subscription: any AnyObject & Sendable)?
    var isBeingRead = false
    /// The failure of the last connection.
    var failure: HTTPError?
    /// The end of the stream, reported once. Nil until the stream is over.
    var end: Result<Void, HTTPError>?
  }

  /// The next step of a reader to get an event.
  private enum Step {
    case event(ServerSentEvent)
    case end(Result<Void, HTTPError>)
    case begin
    case awaitHead(EventConnection)
    case awaitBody(EventConnection)
  }

  private static let lastEventID = HTTPField.Name("Last-Event-ID")

  private let session: HTTPSessionManager
  private let plan: RequestPlan
  private let onStateChange: (@Sendable (ServerSentEventState) -> Void)?
  private let callbacks: CallbackQueue
  private let state: Lock<State>
  private let start = ContinuousClock.now

  init(
    _ session: HTTPSessionManager, _ plan: RequestPlan, _ options: ServerSentEventOptions
  ) {
    self.session = session
    let taskOptions = plan.options
    onStateChange = options.onStateChange
    callbacks = session.callbacks(taskOptions)
    let settings = EventSourceMachine.Settings(
      retryDelay: options.retryDelay, maximumRetryDelay: options.maximumRetryDelay,
      maximumFailures: options.maximumFailures, retriedStatusCodes: options.retriedStatusCodes,
      answerTimeout: taskOptions.timeout?.asDelay,
      mayRepeat: taskOptions.allowsRepetition || plan.request.method == .get)
    self.plan = plan.with(options: taskOptions.ofEvents(options))
    state = Lock(
      State(
        machine: EventSourceMachine(settings, hasPath: true),
        parser: EventStreamParser(
          lastEventID: options.lastEventID, maximumEventBytes: max(options.maximumEventBytes, 0))))
  }

  deinit { state.withLock { $0.timer?.cancel() } }

  /// The state of the stream.
  var phase: ServerSentEventState { state.withLock { shown($0.machine.phase) } }

  private func shown(_ phase: EventSourceMachine.Phase) -> ServerSentEventState {
    switch phase {
    case .idle, .connecting: .connecting
    case .open: .open
    case .waiting(let until): .waiting(until: start.advanced(by: until))
    case .over: .closed
    }
  }

  // MARK: Reading

  /// Returns the next event. Nil at the end.
  func next() async throws(HTTPError) -> ServerSentEvent? {
    while true {
      switch try nextStep() {
      case .event(let event): return event
      case .end(let end):
        try end.get()
        return nil
      case .begin: await begin()
      case .awaitHead(let connection): headCame(await connection.head(), of: connection)
      case .awaitBody(let connection): bodyCame(await connection.next(), of: connection)
      }
    }
  }

  private func nextStep() throws(HTTPError) -> Step {
    let step = state.withLock { state -> Step? in
      guard !state.isBeingRead else { return nil }
      if let event = state.takeEvent() { return .event(event) }
      if let end = state.end {
        state.end = .success(())
        return .end(end)
      }
      state.isBeingRead = true
      guard let connection = state.connection else { return .begin }
      return state.machine.phase == .open ? .awaitBody(connection) : .awaitHead(connection)
    }
    guard let step else {
      throw HTTPError(
        .other, "read server-sent events", message: "two tasks read the same events; let one of them read")
    }
    return step
  }

  private func begin() async {
    let path = await session.pathSource()
    // Subscribe before asking, so that no change is missed.
    let subscription = path?.onPathChange { [weak self] in self?.pathChanged() }
    state.withLock { state in
      state.isBeingRead = false
      if let path, let subscription { state.path = (path, subscription) }
    }
    pathChanged()
    handle(.began)
  }

  private func pathChanged() {
    guard let path = state.withLock({ $0.path?.source }) else { return }
    handle(.pathChanged(hasPath: path.hasPath))
  }

  private func headCame(_ result: Result<HTTPReply<Void>, HTTPError>, of connection: EventConnection) {
    handle(by: connection) { state in
      switch result {
      case .success(let reply):
        let response = reply.response
        state.failure = .refusal(of: response)
        state.parser.restart()
        return .answered(status: response.status.code, isEventStream: response.isEventStream)
      case .failure(let error):
        state.failure = error
        return .ended(error.kind.endOfEvents(isOpen: false))
      }
    }
  }

  private func bodyCame(_ result: Result<Data?, HTTPError>, of connection: EventConnection) {
    handle(by: connection) { state in
      do throws(HTTPError) {
        guard let part = try result.get() else {
          state.failure = HTTPError(
            .connectionLost, "read server-sent events", reason: .closed, message: "the server has ended them")
          return .ended(.complete)
        }
        do throws(HTTPError) {
          try state.parser.parse(part, into: &state.events)
        } catch {
          state.failure = error
          return .ended(.hopeless)
        }
        return .received(retry: state.parser.retry)
      } catch {
        state.failure = error
        return .ended(error.kind.endOfEvents(isOpen: true))
      }
    }
  }

  // MARK: The machine

  /// - Parameter connection: The connection that has the news. They are ignored if the stream has given it up.
  private func handle(by connection: EventConnection, _ event: (inout State) -> EventSourceMachine.Event) {
    change { state in
      state.isBeingRead = false
      if state.connection === connection { handle(event(&state), &state) }
    }
  }

  private func handle(_ event: EventSourceMachine.Event) { change { handle(event, &$0) } }

  private func change(_ body: (inout State) -> Void) {
    // Released outside the lock, because others hold locks both when they call this and when a subscription ends.
    let old = state.withLock { state in
      let old = (state.connection, state.path?.subscription)
      body(&state)
      return old
    }
    withExtendedLifetime(old) {}
    callbacks.flush()
  }

  private func handle(_ event: EventSourceMachine.Event, _ state: inout State) {
    let before = state.machine.phase
    let effects = state.machine.handle(
      event, at: start.duration(to: .now), jitter: .random(in: 0...1))
    for effect in effects { carryOut(effect, &state) }
    let after = state.machine.phase
    if let onStateChange, after != before {
      let shown = shown(after)
      callbacks.enqueue { onStateChange(shown) }
    }
  }

  private func carryOut(_ effect: EventSourceMachine.Effect, _ state: inout State) {
    switch effect {
    case .prepare: state.connection = EventConnection(plan(after: state.parser), in: session)
    case .connect: state.connection?.resume()
    case .abort:
      state.connection?.cancel()
      state.connection = nil
    case .arm(let token, let delay):
      state.timer?.cancel()
      state.timer = Task { [weak self] in
        guard (try? await Task.sleep(for: delay)) != nil else { return }
        self?.timerFired(token)
      }
    case .disarm:
      state.timer?.cancel()
      state.timer = nil
    case .finish(let isFailure):
      state.connection = nil
      state.path = nil
      state.end = isFailure ? .failure(state.failure ?? HTTPError(.other, "read server-sent events")) : .success(())
    }
  }

  private func timerFired(_ token: UInt64) {
    state.withLock { state in
      if state.machine.phase == .connecting { state.failure = HTTPError(.timedOut, "read server-sent events") }
    }
    handle(.timerFired(token: token))
  }

  private func plan(after parser: EventStreamParser) -> RequestPlan {
    guard !parser.lastEventID.isEmpty, let name = Self.lastEventID else { return plan }
    var request = plan.request
    request.headerFields[name] = parser.lastEventID
    return plan.with(request)
  }
}

extension EventSource.State {
  fileprivate mutating func takeEvent() -> ServerSentEvent? {
    guard next < events.count else { return nil }
    defer {
      next += 1
      if next == events.count {
        events.removeAll(keepingCapacity: true)
        next = 0
      }
    }
    return events[next]
  }
}

extension HTTPSessionManager {
  /// The path source of the session. Nil if there is none, or if the session has ended.
  fileprivate func pathSource() async -> (any PathSource)? {
    await withCheckedContinuation { continuation in
      let answer = Promise<(any PathSource)?>(otherwise: nil) { continuation.resume(returning: $0) }
      engines.forEach { answer.fulfill($0.path) }
    }
  }
}

extension HTTPTaskOptions {
  /// The options for a lasting connection: without the limits of a request that ends.
  fileprivate func ofEvents(_ events: ServerSentEventOptions) -> HTTPTaskOptions {
    var options = self
    options.timeout = events.idleTimeout
    options.totalTimeout = nil
    options.maximumResponseBytes = nil
    options.isIndicated = false
    // The stream itself waits for the path.
    options.reachabilityTimeout = nil
    options.retriesWhenReachable = false
    return options
  }
}

extension HTTPError {
  fileprivate static func refusal(of response: HTTPResponse) -> HTTPError {
    var error =
      if response.status == .ok {
        HTTPError(
          .cannotDecodeContentData, "read server-sent events",
          message: "the type is \(response.headerFields.singleValue(.contentType) ?? "missing"), not text/event-stream")
      } else {
        HTTPError(
          .badServerResponse, "read server-sent events", code: CInt(clamping: response.status.code), domain: .http,
          message: "\(response.status)")
      }
    error.response = response
    return error
  }
}

extension HTTPError.Kind {
  /// - Parameter isOpen: Whether the stream has begun. A compressed stream that is cut off cannot be distinguished from a
  ///   damaged one.
  fileprivate func endOfEvents(isOpen: Bool) -> EventSourceMachine.End {
    let ofNetwork: [HTTPError.Kind] = [
      .notResolved, .cannotConnect, .connectionLost, .pathLost, .notReachable, .timedOut, .secureConnectionFailed,
    ]
    let mayPass = ofNetwork.contains(self) || isOpen && self == .cannotDecodeContentData
    return mayPass ? .failed(isPathLoss: self == .pathLost) : .hopeless
  }
}

extension HTTPResponse {
  /// Whether the type is `text/event-stream`, with any parameters.
  fileprivate var isEventStream: Bool {
    let type = (headerFields.singleValue(.contentType) ?? "").split(
      separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
    return type.first.map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() == "text/event-stream" } ?? false
  }
}

/// One request of a stream of server-sent events, and the body of its response. It is cancelled when its last reference is
/// released.
///
/// It is created suspended, so that it represents the waiting stream in its session: it ends with the session.
final class EventConnection: Sendable {
  private let place: (id: RequestID, engine: EngineHandle)
  private let buffer = BodyBuffer()

  init(_ plan: RequestPlan, in session: HTTPSessionManager) {
    place = session.engines.next()
    session.begin(
      plan, place, isSuspended: true,
      makeSink: { [buffer] resume in
        buffer.onNews(resume)
        return buffer
      },
      { [buffer] outcome, end in
        buffer.finish(outcome.map { _ in () })
        end.fulfill()
      })
  }

  deinit { cancel() }

  /// Sends the request, unless it was cancelled.
  func resume() { place.engine.run(place.id) { $0.resume() } }

  func cancel() { place.engine.cancel(place.id) }

  /// Waits for the head of the response. Cancelling the Swift task cancels the request.
  func head() async -> Result<HTTPReply<Void>, HTTPError> {
    await withTaskCancellationHandler {
      do throws(HTTPError) {
        return .success(try await buffer.head())
      } catch {
        return .failure(error)
      }
    } onCancel: {
      cancel()
    }
  }

  /// Waits for the next part of the body, which is nil at its end. Cancelling the Swift task cancels the request.
  func next() async -> Result<Data?, HTTPError> {
    await withTaskCancellationHandler {
      do throws(HTTPError) {
        return .success(try await buffer.next())
      } catch {
        return .failure(error)
      }
    } onCancel: {
      cancel()
    }
  }
}
