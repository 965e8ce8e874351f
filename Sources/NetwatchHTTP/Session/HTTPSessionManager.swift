import FoundationEssentials
import HTTPTypes
import Netwatch

/// Makes HTTP requests: connections that are used again, HTTP/2, cookies, and one thread for all of it, or some ``HTTPThreads``.
///
/// From any thread; no call waits. A manager runs as long as somebody holds it. Then, or when it is invalidated, its tasks end
/// with `invalidated`, and its sockets and its own thread are gone.
///
/// Proxies that the environment names when it is made (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`) are used, unless
/// ``HTTPSessionConfiguration/proxy`` says otherwise.
public final class HTTPSessionManager: Sendable {
  public let configuration: HTTPSessionConfiguration
  /// Ends with a slash.
  public let baseURL: URL?
  /// Those of the configuration, for calls that set none.
  let taskOptions: SharedOptions
  let engines: EngineGroup
  let pending: PendingCompletions
  private let scope: CredentialScope
  /// No other manager has the same.
  var identity: UInt64 { engines.firstID }

  /// - Parameters:
  ///   - baseURL: what paths are relative to. If ``SecurityPolicy/pinningMode`` is not `none`, it has to have https: no
  ///     request without TLS is made then, whether there is a base URL or not.
  ///   - configuration: what holds for all of its tasks.
  ///   - policy: which servers are trusted, but for those with one of ``HTTPSessionConfiguration/hostPolicies``.
  ///   - observer: hears of each request; an `ActivityIndicator` lights up.
  ///   - path: what tasks wait for, where their options say so: a `NetworkMonitor`.
  ///   - threads: The threads of the session, which other sessions may have as well. Default: nil, one thread of its own.
  /// - Throws: `badURL`, `badSecurityPolicy`, `badConfiguration`, or what prevents a thread.
  public init(
    baseURL: URL? = nil, configuration: HTTPSessionConfiguration = .init(), policy: SecurityPolicy = .system,
    observer: (any RequestObserver)? = nil, path: (any PathSource)? = nil, threads: HTTPThreads? = nil
  ) throws(HTTPError) {
    let trust = try configuration.sessionTrust(policy)
    self.baseURL = try baseURL.map { url throws(HTTPError) in try Self.base(url.absoluteURL, trust) }
    self.configuration = configuration
    taskOptions = SharedOptions(configuration.taskOptions)
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
      throw HTTPError(.badSecurityPolicy, "start session", message: "pinning needs a base with https")
    }
    return url.path(percentEncoded: true).hasSuffix("/") ? url : url.appending(path: "/")
  }

  /// The place of a path: relative to ``baseURL``, unless it is a URL of its own.
  ///
  /// - Throws: `badURL`.
  public func url(for path: String) throws(HTTPError) -> URL {
    guard let url = URL(string: path, relativeTo: baseURL)?.absoluteURL, url.scheme != nil else {
      throw HTTPError(.badURL, "request", message: path)
    }
    return url
  }

  /// Takes no task any more; its tasks end with `invalidated`.
  public func invalidate() { engines.invalidate(cancels: true) }

  /// Takes no task any more, and lets its tasks come to their end.
  public func finishTasksAndInvalidate() { engines.invalidate(cancels: false) }

  /// Waits until an invalidated manager is done: every completion has run, and nothing is delivered any more.
  public func waitUntilInvalidated() async {
    await withCheckedContinuation { continuation in pending.whenEmpty { continuation.resume() } }
  }

  // MARK: Tasks

  /// - Parameters:
  ///   - callbacks: for progress; nil where nobody wants to hear of it.
  ///   - status: for who has the task; nil where there is none.
  ///   - makeSink: nil where the body is kept in memory.
  func order(
    _ call: consuming PreparedCall, callbacks: CallbackQueue? = nil, status: TaskStatus? = nil,
    makeSink: (@Sendable (_ goOn: @escaping @Sendable () -> Void) -> any BodySink)? = nil,
    completion: TransferCompletion
  ) -> TransferOrder {
    complete(&call)
    var callbacks = callbacks
    if call.options.onProgress == nil {
      callbacks = nil
    } else if callbacks == nil {
      callbacks = CallbackQueue(call.options)
    }
    return TransferOrder(
      engines.nextID(), call, pending, scope, callbacks: callbacks, status: status, makeSink: makeSink,
      completion: completion)
  }

  /// Adds the session's header fields to a call, and takes the session's credentials out of one that goes elsewhere.
  func complete(_ call: inout PreparedCall) {
    if !configuration.headerFields.isEmpty {
      let given = call.request.headerFields
      for field in configuration.headerFields where !given.contains(field.name) {
        call.request.headerFields.append(field)
      }
    }
    scope.confine(&call)
  }

  /// For a request that somebody awaits.
  func cancellation() -> CancellationHandle<RequestID> {
    CancellationHandle { [engines] in engines.inbox(of: $0).send(.cancel($0)) }
  }

  /// Begins what somebody awaits.
  func begin(_ order: TransferOrder, _ cancellation: CancellationHandle<RequestID>) {
    let id = order.id
    engines.inbox(of: id).send(.start(order, isSuspended: false))
    cancellation.began(id)
  }

  func reply<Value: Sendable>(
    to call: PreparedCall,
    _ convert: (HTTPReply<ReceivedBody>) throws(HTTPError) -> HTTPReply<Value>,
    makeSink: (@Sendable (_ goOn: @escaping @Sendable () -> Void) -> any BodySink)? = nil
  ) async throws(HTTPError) -> HTTPReply<Value> {
    if let refusal = call.refusal { throw refusal }
    let cancellation = cancellation()
    let order = await withTaskCancellationHandler {
      unsafe await withUnsafeContinuation { continuation in
        begin(self.order(call, makeSink: makeSink, completion: unsafe .awaited(continuation)), cancellation)
      }
    } onCancel: {
      cancellation.cancel()
    }
    return try TransferOrder.finish(order, pending, convert)
  }
}
