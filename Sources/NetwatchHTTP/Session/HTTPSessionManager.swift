import FoundationEssentials
import HTTPTypes
import Netwatch

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
  private let scope: CredentialScope
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
  /// - Throws: `badURL` if the path does not result in an absolute URL.
  public func url(for path: String) throws(HTTPError) -> URL {
    guard let url = URL(string: path, relativeTo: baseURL)?.absoluteURL, url.scheme != nil else {
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

  // MARK: Tasks

  /// Returns an order for a call, with the session's header fields and credentials.
  ///
  /// - Parameters:
  ///   - callbacks: The queue for progress; nil if it is not wanted.
  ///   - status: The status for the holder of the task; nil if there is none.
  ///   - makeSink: Makes the destination of the body. Nil keeps the body in memory.
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
      engines.nextID(), consume call, pending, scope, callbacks: callbacks, status: status, makeSink: makeSink,
      completion: completion)
  }

  /// Adds the session's header fields to a call, and removes the session's credentials from a call to another origin.
  func complete(_ call: inout PreparedCall) {
    if !configuration.headerFields.isEmpty {
      var request = call.request
      let given = request.headerFields
      for field in configuration.headerFields where !given.contains(field.name) { request.headerFields.append(field) }
      call.request = request
    }
    scope.confine(&call)
  }

  /// Returns what cancels a request that is awaited.
  func cancellation() -> CancellationHandle<RequestID> {
    CancellationHandle { [engines] in engines.inbox(of: $0).send(.cancel($0)) }
  }

  /// Begins a request that is awaited.
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
    // Nil for a task with an executor of its own.
    let priority = unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor == nil ? Task.currentPriority : nil }
    let order = await withTaskCancellationHandler {
      unsafe await withUnsafeContinuation { continuation in
        begin(self.order(call, makeSink: makeSink, completion: unsafe .awaited(continuation, priority)), cancellation)
      }
    } onCancel: {
      cancellation.cancel()
    }
    return try TransferOrder.finish(order, pending, convert)
  }
}
