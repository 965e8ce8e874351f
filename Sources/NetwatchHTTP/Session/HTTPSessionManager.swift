import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// A session that makes HTTP requests. It reuses connections, speaks HTTP/2 and keeps cookies. Its transfers run on a thread of
/// its own, or on the threads of ``HTTPThreads``.
///
/// All members can be used from any thread. No call blocks its thread. A manager works as long as it is held. When it is released
/// or invalidated, its tasks end with `invalidated`, its sockets are closed, and its own thread ends.
///
/// By default, the session uses the proxies that the environment names when the manager is made (`http_proxy`, `https_proxy`,
/// `all_proxy`, `no_proxy`). ``HTTPSessionConfiguration/proxy`` can change that.
public final class HTTPSessionManager: Sendable {
  /// The configuration that the manager was made with.
  public let configuration: HTTPSessionConfiguration
  /// The URL that paths are relative to. It ends with a slash. Nil if the manager has none.
  public let baseURL: URL?
  let engines: EngineGroup
  let pending: PendingCompletions
  let scope: CredentialScope
  /// A number that no other manager has.
  var identity: UInt64 { engines.firstID }

  /// Creates a session manager.
  ///
  /// - Parameters:
  ///   - baseURL: The URL that paths are relative to. Default: nil. If the policy of its host has pins or a
  ///     ``SecurityPolicy/check``, the URL must use https, because such a policy refuses all requests without TLS.
  ///   - configuration: The settings of the session, and the default options of its tasks.
  ///   - policy: The policy that decides which servers are trusted, except for the hosts in
  ///     ``HTTPSessionConfiguration/hostPolicies``. Default: the system's.
  ///   - observer: The observer of all requests, such as an `ActivityIndicator`. Default: nil.
  ///   - path: The path to the network, such as a `NetworkMonitor`. Tasks wait for it if their options require it. Default:
  ///     nil.
  ///   - threads: The threads that the session runs on, which other sessions may share. Default: nil, the session starts one
  ///     thread for itself.
  /// - Throws: `badURL`; `badSecurityPolicy`, also if the policy of the base URL's host does not allow the URL, or if that host has
  ///   no policy and ``HTTPSessionConfiguration/refusesHostsWithoutPolicy`` is set; `badConfiguration`; or the error that prevents
  ///   the start of a thread.
  public init(
    baseURL: URL? = nil, configuration: HTTPSessionConfiguration = .init(), policy: SecurityPolicy = .system,
    observer: (any RequestObserver)? = nil, path: (any PathSource)? = nil, threads: HTTPThreads? = nil
  ) throws(HTTPError) {
    let trust = try configuration.sessionTrust(policy)
    self.baseURL = try baseURL.map { url throws(HTTPError) in try Self.base(url.absoluteURL, trust) }
    self.configuration = configuration
    scope = try CredentialScope(self.baseURL, configuration)
    try HTTPFields.check(text: configuration.userAgent, "the user agent")
    engines = try EngineGroup(on: threads, configuration, policy, observer: observer, path: path)
    pending = engines.pending
  }

  deinit { engines.invalidate(cancels: true) }

  private static func base(_ url: URL, _ trust: SessionTrust) throws(HTTPError) -> URL {
    let request = try HTTPRequest(.get, to: url)
    guard let trust = trust.trust(of: request) else {
      throw HTTPError(
        .badSecurityPolicy, "start session",
        message: "the host of the base has no policy, and the session refuses such hosts; add it to hostPolicies")
    }
    guard request.scheme == "https" || !trust.policy.requiresTLS else {
      throw HTTPError(
        .badSecurityPolicy, "start session", message: "a policy with pins or a check needs a base URL with https")
    }
    return url.path(percentEncoded: true).hasSuffix("/") ? url : url.appending(path: "/")
  }

  /// Returns the URL of a path: relative to ``baseURL``, unless the path is itself a whole URL.
  ///
  /// What is percent-encoded stays as it is. Everything else that a URL may not have is encoded, such as a space or `é`.
  ///
  /// - Throws: `badURL` if the path does not result in an absolute URL.
  public func url(for path: String) throws(HTTPError) -> URL {
    guard let url = URL(reference: path.utf8, relativeTo: baseURL)?.absoluteURL, url.scheme != nil else {
      throw HTTPError(.badURL, "request", message: path)
    }
    return url
  }

  /// Ends the session at once. Its tasks, and all new ones, end with `invalidated`.
  public func invalidate() { engines.invalidate(cancels: true) }

  /// Ends the session once its tasks are over. New tasks end with `invalidated`.
  public func finishTasksAndInvalidate() { engines.invalidate(cancels: false) }

  /// Waits until an invalidated manager is done. Every completion has then run, and nothing more is delivered.
  public func waitUntilInvalidated() async {
    await withCheckedContinuation { continuation in pending.whenEmpty { continuation.resume() } }
  }

  // MARK: Requests

  /// Plans a request, with the session's header fields and without the session's credentials if it goes to another origin. If the
  /// request cannot be made, the plan has the refusal.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - body: The body, instead of the call's own. Nil keeps the call's own.
  ///   - options: Options that take precedence over those of the call, which take precedence over those of the session.
  ///   - kind: The kind of the task, which decides what becomes of the response.
  ///   - defaults: Header fields for a request that has none with these names. They take precedence over those of the session.
  func plan(
    _ request: some RequestConvertible, _ body: HTTPBody?, _ options: HTTPTaskOptions,
    _ kind: HTTPTaskInfo.Kind = .data, defaults: HTTPFields = [:]
  ) -> RequestPlan {
    do throws(HTTPError) {
      let (request, body, options, own) = try compose(request, body, options)
      return plan(request, body, options, own: own, kind, defaults: defaults)
    } catch {
      let empty = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
      let options = configuration.taskOptions.merged(with: options)
      return RequestPlan(empty, nil, options, own: [:], kind, scope, refusal: error)
    }
  }

  /// Plans a request that ``compose(_:_:_:)`` has made.
  func plan(
    _ request: HTTPRequest, _ body: HTTPBody?, _ options: HTTPTaskOptions, own: HTTPFields,
    _ kind: HTTPTaskInfo.Kind = .data, defaults: HTTPFields = [:]
  ) -> RequestPlan {
    var (request, options) = (request, options)
    for fields in [defaults, configuration.headerFields] {
      let given = request.headerFields
      for field in fields where !given.contains(field.name) { request.headerFields.append(field) }
    }
    if options.cachePolicy == .ignoresAllCaches, !request.headerFields.contains(.cacheControl) {
      request.headerFields[.cacheControl] = "no-cache"
      if let pragma = HTTPField.Name("Pragma") { request.headerFields[pragma] = "no-cache" }
    }
    scope.confine(&request, &options, own: own)
    return RequestPlan(request, body, options, own: own, kind, scope)
  }

  /// Creates a task that is running or suspended.
  ///
  /// - Parameter receiver: Gets the outcome once: see ``EngineGroup/start(_:_:_:isSuspended:onProgress:makeSink:_:)``.
  func task(
    _ plan: RequestPlan, isSuspended: Bool, onProgress: (@Sendable (HTTPProgress) -> Void)? = nil,
    makeSink: RequestPlan.MakeSink? = nil, _ receiver: @escaping EngineGroup.Receiver
  ) -> HTTPTask {
    let (status, place) = (TaskStatus(), engines.next())
    let task = HTTPTask(place.id, plan, status, place.engine)
    status.wish(isSuspended: isSuspended) {
      engines.start(
        plan, place, status, isSuspended: isSuspended, onProgress: onProgress, makeSink: makeSink, receiver)
    }
    return task
  }

  /// Returns a queue for the callbacks of a task.
  func callbacks(_ options: HTTPTaskOptions) -> CallbackQueue { CallbackQueue(options, now: engines.now) }

  /// Begins a request for a caller that waits.
  ///
  /// - Parameter receiver: Gets the outcome once, after the last report of progress: see
  ///   ``EngineGroup/start(_:_:_:isSuspended:onProgress:makeSink:_:)``.
  func begin(
    _ plan: RequestPlan, _ place: (id: RequestID, engine: EngineHandle), isSuspended: Bool = false,
    makeSink: RequestPlan.MakeSink?, _ receiver: @escaping EngineGroup.Receiver
  ) {
    guard plan.options.onProgress != nil else {
      return engines.start(
        plan, place, nil, isSuspended: isSuspended, onProgress: nil, makeSink: makeSink, receiver)
    }
    let callbacks = callbacks(plan.options)
    engines.start(plan, place, nil, isSuspended: isSuspended, onProgress: callbacks.report, makeSink: makeSink) {
      outcome, end in
      // An executor may drop the call.
      let answer = Promise { receiver(outcome, end) }
      callbacks.append { answer.fulfill() }
    }
  }

  /// Sends a request, and converts its response in the caller's task, while the request still counts as active. Cancelling the Swift
  /// task cancels the request.
  func reply<Value: Sendable>(
    to plan: RequestPlan, makeSink: RequestPlan.MakeSink? = nil,
    _ convert: (HTTPReply<ReceivedBody>) throws(HTTPError) -> HTTPReply<Value>
  ) async throws(HTTPError) -> HTTPReply<Value> {
    if let refusal = plan.refusal { throw refusal }
    let place = engines.next()
    let (outcome, end) = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        begin(plan, place, makeSink: makeSink) { continuation.resume(returning: ($0, $1)) }
        // The cancellation may have come before there was anything to cancel.
        if Task.isCancelled { place.engine.cancel(place.id) }
      }
    } onCancel: {
      place.engine.cancel(place.id)
    }
    defer { end.fulfill() }
    return try convert(outcome.get())
  }
}

extension HTTPSessionManager {
  /// Makes the request of a call, without what every request of the session gets.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - body: The body, instead of the call's own. Nil keeps the call's own.
  ///   - options: Options that take precedence over those of the call, which take precedence over those of the session.
  /// - Returns: The request, its body and options, and the fields that the caller has given for this request only.
  func compose(
    _ request: some RequestConvertible, _ body: HTTPBody?, _ options: HTTPTaskOptions
  ) throws(HTTPError) -> (request: HTTPRequest, body: HTTPBody?, options: HTTPTaskOptions, own: HTTPFields) {
    var call = try request.makeCall()
    if let body { call.body = body }
    let (request, body) = try serialize(call)
    return (
      request, body, configuration.taskOptions.merged(with: call.options).merged(with: options), own: call.headerFields
    )
  }

  private func serialize(_ call: HTTPCall) throws(HTTPError) -> (HTTPRequest, HTTPBody?) {
    var request: HTTPRequest
    var url: URL?
    if let whole = call.whole {
      request = whole
      if call.parameters == nil, call.serializer == nil { return (request, call.body) }
    } else {
      let method = call.method ?? (call.body == nil ? .get : .post)
      request = HTTPRequest(method: method, scheme: nil, authority: nil, path: nil, headerFields: call.headerFields)
      url = try self.url(for: call.path)
    }
    let serializer = call.serializer ?? configuration.requestSerializer
    guard let body = call.body else {
      return try serializer.serialize(request, url: url, parameters: call.parameters)
    }
    (request, _) = try serializer.serialize(request, url: url, parameters: nil)
    if let parameters = call.parameters { try request.append(query: URLEncodedFormEncoder().encode(parameters)) }
    return (request, body)
  }
}

/// Any kind of request, with any serializer.
extension HTTPSessionManager {
  /// Sends a request, and returns the value that a serializer makes from the response.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or your own type.
  ///   - body: The body, such as `.json(user)`. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - serializer: Checks the response, and makes a value from its body.
  /// - Throws: The error of the request or of the serializer.
  public func send<Serializer: ResponseSerializer>(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    as serializer: Serializer
  ) async throws(HTTPError) -> HTTPReply<Serializer.Value> {
    try await reply(to: plan(request, body, options)) { reply throws(HTTPError) in
      try reply.serialized(by: serializer)
    }
  }

  /// Sends a request, and decodes the response as a value of your own type.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or your own type.
  ///   - body: The body, such as `.json(user)`. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - type: The type of the value.
  ///   - decoder: The decoder of the body. Default: nil, the ``HTTPSessionConfiguration/decoder`` of the session.
  /// - Throws: The error of the request or of the decoder.
  public func send<Value: Decodable & Sendable>(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    as type: Value.Type, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> HTTPReply<Value> {
    try await send(
      request, body: body, options: options,
      as: DecodableResponseSerializer(type, decoder: decoder ?? configuration.decoder))
  }

  /// Sends a request, and returns the value that the session's ``HTTPSessionConfiguration/responseSerializer`` makes from the
  /// response. By default, that is the body, of any content type, with a status from 200 to 299.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or your own type.
  ///   - body: The body, such as `.json(user)`. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the request or of the serializer.
  @discardableResult
  public func send(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<any Sendable> {
    try await send(request, body: body, options: options, opened: configuration.responseSerializer)
  }

  private func send(
    _ request: some RequestConvertible, body: HTTPBody?, options: HTTPTaskOptions,
    opened serializer: some ResponseSerializer
  ) async throws(HTTPError) -> HTTPReply<any Sendable> {
    let reply = try await send(request, body: body, options: options, as: serializer)
    return reply.with(reply.value)
  }

  /// Begins a request whose response a serializer turns into a value.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or your own type.
  ///   - body: The body, such as `.json(user)`. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - serializer: Checks the response, and makes a value from its body.
  ///   - completion: Called once by the executor of the options. It is never called within this call, but possibly on another
  ///     thread before this call returns. See ``HTTPExecutor``.
  /// - Returns: The task, which is running.
  @discardableResult
  public func send<Serializer: ResponseSerializer>(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    task(
      plan(request, body, options), isSuspended: false, decodes: true,
      { reply throws(HTTPError) in try reply.serialized(by: serializer) }, completion)
  }
}

extension HTTPReply<ReceivedBody> {
  func serialized<Serializer: ResponseSerializer>(
    by serializer: Serializer
  ) throws(HTTPError) -> HTTPReply<Serializer.Value> {
    try converted(by: Serializer.self) { reply throws(HTTPError) in
      try serializer.serialize(reply.response, body: reply.value.data, request: reply.request)
    }
  }
}

/// Tasks with completions. They are created suspended, and `resume()` begins them. No completion runs before `resume()` is
/// called, unless the task is cancelled or the session has ended.
extension HTTPSessionManager {
  /// Creates a suspended task that keeps its response in memory. A response with any status is a success.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - completion: Called once by the executor of the options.
  public func dataTask(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPReply<Data>, HTTPError>) -> Void
  ) -> HTTPTask {
    task(plan(request, body, options), { reply throws(HTTPError) in reply.with(reply.value.data) }, completion)
  }

  /// Creates a suspended task that sends a body, and keeps its response in memory. A response with any status is a success.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. The method of a
  ///     path or a URL is POST.
  ///   - body: The body to send.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - completion: Called once by the executor of the options.
  public func uploadTask(
    _ request: some RequestConvertible, from body: HTTPBody, options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPReply<Data>, HTTPError>) -> Void
  ) -> HTTPTask {
    task(plan(request, body, options, .upload), { reply throws(HTTPError) in reply.with(reply.value.data) }, completion)
  }

  /// Creates a suspended task that saves its response as a file, once the response is complete.
  ///
  /// A response with a status outside 200 to 299 is an error (`badServerResponse`). It is also an error if the file cannot be put in
  /// its place. An existing file then stays as it was.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - destination: The place of the file.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - completion: Called once by the executor of the options.
  public func downloadTask(
    _ request: some RequestConvertible, body: HTTPBody? = nil, to destination: HTTPDestination,
    options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPReply<URL>, HTTPError>) -> Void
  ) -> HTTPTask {
    let plan = plan(request, body, options, .download)
    let isFlushed = plan.options.flushesFiles
    return task(
      plan, makeSink: { _ in FileSink(destination, isFlushed: isFlushed) },
      { reply throws(HTTPError) in reply.with(try reply.value.file) }, completion)
  }

  /// Creates a task whose completion runs on the executor of its options, after the last report of progress.
  ///
  /// - Parameters:
  ///   - decodes: Whether `convert` may take long. If so, it blocks neither the loop's thread nor the caller's executor.
  ///   - convert: Converts the response. If `decodes` is true, it is called away from the loop's thread.
  func task<Value: Sendable>(
    _ plan: RequestPlan, isSuspended: Bool = true, decodes: Bool = false, makeSink: RequestPlan.MakeSink? = nil,
    _ convert: @escaping @Sendable (HTTPReply<ReceivedBody>) throws(HTTPError) -> HTTPReply<Value>,
    _ completion: @escaping @Sendable (Result<HTTPReply<Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    let callbacks = callbacks(plan.options)
    let onProgress = plan.options.onProgress == nil ? nil : callbacks.report
    return task(plan, isSuspended: isSuspended, onProgress: onProgress, makeSink: makeSink) { outcome, end in
      guard decodes else {
        return callbacks.append {
          completion(outcome.converted(convert))
          end.fulfill()
        }
      }
      Task {
        let result = outcome.converted(convert)
        callbacks.append {
          completion(result)
          end.fulfill()
        }
      }
    }
  }
}

/// Requests that you await. Cancelling the Swift task cancels the request.
extension HTTPSessionManager {
  /// Sends a request, and returns its response with any status. The body is kept in memory.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the request.
  public func data(
    for request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<Data> {
    try await reply(to: plan(request, body, options)) { reply throws(HTTPError) in reply.with(reply.value.data) }
  }

  /// Sends a body, and returns the response with any status. The body of the response is kept in memory.
  ///
  /// - Parameters:
  ///   - body: The body to send.
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. The method of a
  ///     path or a URL is POST.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the request.
  public func upload(
    _ body: HTTPBody, with request: some RequestConvertible, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<Data> {
    try await reply(to: plan(request, body, options, .upload)) { reply throws(HTTPError) in
      reply.with(reply.value.data)
    }
  }

  /// Sends a request, and saves the response as a file. Returns once the file is complete.
  ///
  /// A response with a status outside 200 to 299 is an error (`badServerResponse`). It is also an error if the file cannot be put in
  /// its place. An existing file then stays as it was.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - destination: The place of the file.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the request.
  public func download(
    _ request: some RequestConvertible, body: HTTPBody? = nil, to destination: HTTPDestination,
    options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<URL> {
    let plan = plan(request, body, options, .download)
    let isFlushed = plan.options.flushesFiles
    return try await reply(to: plan, makeSink: { _ in FileSink(destination, isFlushed: isFlushed) }) {
      reply throws(HTTPError) in reply.with(try reply.value.file)
    }
  }
}

extension Result where Success == HTTPReply<ReceivedBody>, Failure == HTTPError {
  func converted<Value>(
    _ convert: (HTTPReply<ReceivedBody>) throws(HTTPError) -> HTTPReply<Value>
  ) -> Result<HTTPReply<Value>, HTTPError> {
    do throws(HTTPError) {
      return .success(try convert(get()))
    } catch {
      return .failure(error)
    }
  }
}

/// All tasks of a session: their list, their cancellation and their events.
extension HTTPSessionManager {
  /// Returns the tasks that are not over, in the order in which they were made. They include tasks that are awaited or read as
  /// streams, and the requests of downloads and batches. The array is empty if the session has ended.
  ///
  /// - Parameter kind: The kind of the tasks to return. Default: nil, all kinds.
  public func tasks(of kind: HTTPTaskInfo.Kind? = nil) async -> [HTTPTask] {
    var tasks: [HTTPTask] = []
    for engine in engines.handles {
      tasks += await withCheckedContinuation { continuation in
        let answer = Promise(otherwise: []) { continuation.resume(returning: $0) }
        engine.run { answer.fulfill($0.tasks(kind).map { HTTPTask($0.id, $0.plan, $0.status, engine) }) }
      }
    }
    return tasks.sorted { engines.place(of: $0.id) < engines.place(of: $1.id) }
  }

  /// Cancels all tasks, which end with `cancelled`. The session still accepts new tasks.
  public func cancelAll() { engines.forEach { $0.cancelAll() } }

  /// Returns the events of the session's tasks from now on. Each call returns a new sequence, which ends with the session. The
  /// events of one task are in order.
  ///
  /// The session does not wait for the reader. To get every event, use ``HTTPSessionConfiguration/eventObservers``.
  ///
  /// - Parameters:
  ///   - capacity: The most events that wait for the reader, at least 1. Beyond it, the oldest events are dropped.
  ///     Default: 1,024.
  ///   - includesBodies: Whether the events have the bodies that are kept in memory. Each body then stays in memory for as long
  ///     as its event waits. Default: false, ``HTTPEvent/Body/data`` is nil.
  public func taskEvents(
    bufferingNewest capacity: Int = 1_024, includesBodies: Bool = false
  ) -> AsyncStream<HTTPEvent> {
    AsyncStream(bufferingPolicy: .bufferingNewest(max(capacity, 1))) { stream in
      let reader = EventReader(stream, includesBodies: includesBodies)
      stream.onTermination = { [engines, weak reader] _ in
        guard let reader else { return }
        engines.forEach { $0.events.remove(reader) }
      }
      engines.forEach { $0.events.add(reader) }
    }
  }
}

extension HTTPSessionManager {
  /// Returns a request as a curl command, with the header fields, the user agent, the cookies and the credential that the session
  /// adds, but without the changes of interceptors. Nothing is sent. See
  /// `HTTPRequest.cURLDescription(body:credential:cookies:redacting:)`.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - redacting: The header fields whose values are hidden. Default: `Authorization`, `Proxy-Authorization` and `Cookie`.
  /// - Throws: The error that the request would fail with before anything is sent.
  public func cURLDescription(
    of request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    redacting: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie]
  ) async throws(HTTPError) -> String {
    let plan = plan(request, body, options)
    if let refusal = plan.refusal { throw refusal }
    var request = plan.request
    if let agent = configuration.userAgent, !request.headerFields.contains(.userAgent) {
      request.headerFields[.userAgent] = agent
    }
    return request.cURLDescription(
      body: plan.body, credential: plan.options.credential, cookies: await cookies(), redacting: redacting)
  }
}

/// The cookies of a session. They live as long as the session, and no other session sees them.
///
/// They follow RFC 6265 and, where browsers are stricter, its successor (draft-ietf-httpbis-rfc6265bis). No cookie is for a whole
/// public suffix, such as `co.uk`, whoever sets or stores it. A cookie that is not UTF-8 is ignored.
extension HTTPSessionManager {
  /// Returns the cookies that have not expired. The array is empty if the session has ended or does not handle cookies.
  public func cookies() async -> [SessionCookie] { engines.cookies?.all ?? [] }

  /// Stores cookies, such as those of an earlier session. Each one replaces a cookie with the same name, domain and path.
  public func store(_ cookies: [SessionCookie]) { engines.cookies?.store(cookies) }

  /// Removes all cookies, or those that meet a condition.
  ///
  /// - Parameter condition: Returns whether to remove a cookie. It is called before this call returns. Default: always true.
  public func removeCookies(where condition: (SessionCookie) -> Bool = { _ in true }) {
    engines.cookies?.remove(where: condition)
  }
}
