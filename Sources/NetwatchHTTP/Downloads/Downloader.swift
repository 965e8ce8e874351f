import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// A downloader of resources that many callers may request at once, such as images. Equal requests share one transfer, and few
/// transfers run at a time. A response in memory is used without asking the server for as long as HTTP allows.
///
/// All members can be used from any thread. No call blocks its thread. Requested downloads are completed even if the downloader is
/// released.
public final class Downloader<Serializer: ResponseSerializer>: Sendable where Serializer.Value: CacheCost {
  /// The type of the value of a download.
  public typealias Value = Serializer.Value
  /// The type of the default cache. You can use your own ``DownloadCache`` instead.
  public typealias Cache = AutoPurgingCache<CachedResource, CachedReply<Value>>
  /// A closure that gets the response with its value, or the error of the download.
  public typealias Completion = @Sendable (Result<HTTPReply<Value>, HTTPError>) -> Void

  private struct State: Sendable {
    var machine: DownloaderMachine<DownloadKey>
    var waiters: [UInt64: Waiter] = [:]
    var tasks: [UInt64: HTTPTask] = [:]
    var lastReceipt: UInt64 = 0
  }

  /// A completion, and the hold on the session. `waitUntilInvalidated()` of the session waits until `hold` is fulfilled.
  private typealias Waiter = (completion: Completion, hold: Promise<Void>)
  /// The outcome of a transfer. The transfer is over when `end` is released.
  private typealias Outcome = (result: Result<HTTPReply<Value>, HTTPError>, end: Promise<Void>)

  /// The session that makes the requests.
  public let session: HTTPSessionManager
  /// The cache, which other downloaders may share.
  ///
  /// A response that is `private` or has a `Vary` field is used only by the session and the credential that requested it. So is a
  /// response that may depend on credentials, header fields, cookies, client certificates or interceptors, unless the server has
  /// marked it as `public`. A session with a transport, a Unix socket or overridden addresses shares none. All other responses are
  /// shared.
  public let cache: any DownloadCache<CachedReply<Value>>
  private let serializer: Serializer
  private let options: HTTPTaskOptions
  private let owner: CacheOwner
  private let callbacks: CallbackQueue
  private let state: Lock<State>
  private let now: @Sendable () -> Duration

  /// Creates a downloader.
  ///
  /// - Parameters:
  ///   - session: The session that makes the requests.
  ///   - serializer: Makes a value from each response: ``ImageResponseSerializer`` for images, or ``HTTPResponseSerializer``
  ///     for bytes.
  ///   - limit: The most transfers that run at the same time. Default: 4.
  ///   - order: The order in which waiting requests begin. Default: `firstInFirstOut`.
  ///   - cache: The cache of the responses. Default: a new ``AutoPurgingCache``.
  ///   - options: The options of all transfers. Options that are not set come from the session. The executor of the options
  ///     runs the completions, one at a time.
  public convenience init(
    session: HTTPSessionManager, as serializer: Serializer, limit: Int = 4, order: DownloadOrder = .firstInFirstOut,
    cache: any DownloadCache<CachedReply<Value>> = Cache(), options: HTTPTaskOptions = HTTPTaskOptions()
  ) {
    self.init(session: session, as: serializer, limit: limit, order: order, cache: cache, options: options) {
      KernelClock.boot.now
    }
  }

  /// - Parameter now: Returns a time that also passes while the machine sleeps.
  init(
    session: HTTPSessionManager, as serializer: Serializer, limit: Int, order: DownloadOrder,
    cache: any DownloadCache<CachedReply<Value>>, options: HTTPTaskOptions, now: @escaping @Sendable () -> Duration
  ) {
    self.session = session
    self.serializer = serializer
    self.cache = cache
    self.options = session.configuration.taskOptions.merged(with: options)
    self.now = now
    owner = CacheOwner(session, self.options)
    callbacks = session.callbacks(self.options)
    state = Lock(State(machine: DownloaderMachine(limit: limit, order: order)))
  }

  /// Requests a download.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL of the session, a URL, an `HTTPRequest` or an ``HTTPCall``. The
  ///     body and the options of a call have no effect, because equal requests share one transfer.
  ///   - policy: Whether the cache may answer, and when the server is asked. Default: `standard`.
  ///   - completion: Called once for each receipt by the executor of the options. It may run before this call returns, for
  ///     example if the cache has the response.
  /// - Returns: The receipt, by which you can cancel the request.
  @discardableResult
  public func download(
    _ request: some RequestConvertible, policy: HTTPCachePolicy = .standard, completion: @escaping Completion
  ) -> DownloadReceipt {
    var key: DownloadKey?
    var answer: Result<HTTPReply<Value>, HTTPError>?
    do throws(HTTPError) {
      let wanted = DownloadKey(try session.compose(request, nil, options).request, policy)
      answer = answerWithoutServer(for: wanted)
      key = wanted
    } catch {
      answer = .failure(error)
    }
    let waiter = (completion: completion, hold: session.pending.hold())
    let receipt = state.withLock { state in
      state.lastReceipt += 1
      let receipt = state.lastReceipt
      if let answer {
        callbacks.enqueue {
          waiter.completion(answer)
          waiter.hold.fulfill()
        }
      } else if let key {
        state.waiters[receipt] = waiter
        handle(.requested(receipt, key), nil, &state)
      }
      return receipt
    }
    callbacks.flush()
    return DownloadReceipt(number: receipt)
  }

  /// Cancels a receipt, whose completion gets `cancelled`, unless it was already called. The transfer is cancelled with its
  /// last receipt.
  public func cancel(_ receipt: DownloadReceipt) { handle(.cancelled(receipt.number)) }

  /// Requests a download, and waits for its response. Cancelling the Swift task cancels the receipt.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL of the session, a URL, an `HTTPRequest` or an ``HTTPCall``. The
  ///     body and the options of a call have no effect, because equal requests share one transfer.
  ///   - policy: Whether the cache may answer, and when the server is asked. Default: `standard`.
  /// - Throws: The error of the download.
  public func value(
    for request: some RequestConvertible, policy: HTTPCachePolicy = .standard
  ) async throws(HTTPError) -> HTTPReply<Value> {
    let cancellation = CancellationHandle<DownloadReceipt> { self.cancel($0) }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let receipt = download(request, policy: policy) { continuation.resume(returning: $0) }
        cancellation.began(receipt)
      }
    } onCancel: {
      cancellation.cancel()
    }
    return try result.get()
  }

  /// The number of transfers that are running.
  public var activeCount: Int { state.withLock { $0.machine.activeCount } }

  // MARK: The machine

  private func handle(_ event: DownloaderMachine<DownloadKey>.Event, _ outcome: Outcome? = nil) {
    state.withLock { handle(event, outcome, &$0) }
    callbacks.flush()
  }

  /// Called under the lock, so that transfers are begun before they are cancelled.
  private func handle(_ event: DownloaderMachine<DownloadKey>.Event, _ outcome: Outcome?, _ state: inout State) {
    if case .ended(let id) = event { state.tasks[id] = nil }
    for effect in state.machine.handle(event) {
      switch effect {
      case .begin(let id, let key): state.tasks[id] = begin(id, key)
      case .cancel(let id): state.tasks[id]?.cancel()
      case .drop: break
      case .answerCancelled(let receipt):
        answer(receipt, .failure(HTTPError(.cancelled, "cancel")), nil, &state)
      case .answer(let receipts, of: _):
        guard let outcome else { break }
        for receipt in receipts { answer(receipt, outcome.result, outcome.end, &state) }
      }
    }
  }

  private func answer(
    _ receipt: UInt64, _ result: Result<HTTPReply<Value>, HTTPError>, _ end: Promise<Void>?, _ state: inout State
  ) {
    guard let waiter = state.waiters.removeValue(forKey: receipt) else { return }
    callbacks.enqueue {
      waiter.completion(result)
      waiter.hold.fulfill()
      // The last receipt that is answered ends the transfer.
      withExtendedLifetime(end) {}
    }
  }

  private func begin(_ id: UInt64, _ key: DownloadKey) -> HTTPTask {
    var request = key.request
    let stale = key.policy.ignoresStored ? nil : kept(for: key)
    var options = options
    if key.policy != .standard { options.cachePolicy = key.policy }
    if let conditions = stale?.freshness.conditions {
      request.headerFields.append(contentsOf: conditions)
      options.onRedirect = options.redirects(without: conditions)
    }
    let began = now()
    let plan = session.plan(request, nil, options, own: request.headerFields)
    return session.task(plan, isSuspended: false) { outcome, end in
      Task {
        let result = outcome.converted { reply throws(HTTPError) in
          try self.value(of: reply, key, stale, began: began)
        }
        self.handle(.ended(id), (result, end))
      }
    }
  }

  // MARK: What is kept

  private func kept(for key: DownloadKey) -> CachedReply<Value>? {
    guard CacheFreshness.isCacheable(key.request), let kept = cache.value(for: key.resource) else { return nil }
    return kept.owner == nil || kept.owner == owner ? kept : nil
  }

  /// Returns the response from the cache, or the error if the policy forbids the server. Nil if the server is to be asked.
  private func answerWithoutServer(for key: DownloadKey) -> Result<HTTPReply<Value>, HTTPError>? {
    if let kept = kept(for: key), isUsable(kept, for: key) {
      return .success(HTTPReply(kept.reply.response, kept.reply.value, to: kept.reply.request, HTTPMetrics()))
    }
    return key.policy == .requiresCache ? .failure(.notInCache) : nil
  }

  private func isUsable(_ kept: CachedReply<Value>, for key: DownloadKey) -> Bool {
    switch key.policy {
    case .standard: kept.freshness.mayAnswer(key.request, at: now(), isAged: false)
    case .prefersCache, .requiresCache: kept.freshness.mayAnswer(key.request, at: now(), isAged: true)
    case .ignoresCache, .ignoresAllCaches, .revalidates: false
    }
  }

  private func value(
    of reply: HTTPReply<ReceivedBody>, _ key: DownloadKey, _ stale: CachedReply<Value>?, began: Duration
  ) throws(HTTPError) -> HTTPReply<Value> {
    // The target of a redirect is another resource: it neither validates the cached response, nor replaces it.
    let isDirect = reply.request.urlText == key.request.urlText
    let value: HTTPReply<Value>
    if isDirect, reply.response.status == .notModified, let stale, stale.freshness.conditions != nil {
      value = HTTPReply(
        stale.reply.response.refreshed(by: reply.response), stale.reply.value, to: reply.request, reply.metrics)
    } else {
      value = try reply.serialized(by: serializer)
    }
    if CacheFreshness.isCacheable(key.request) { keep(value, key, isDirect: isDirect, began: began) }
    return value
  }

  private func keep(_ value: HTTPReply<Value>, _ key: DownloadKey, isDirect: Bool, began: Duration) {
    let now = now()
    guard isDirect, let freshness = CacheFreshness(key.request, value.response, at: now, delay: now - began) else {
      cache.remove(key.resource)
      return
    }
    let owner = owner.isAlone(with: value.response, to: value.request) ? owner : nil
    cache.insert(CachedReply(reply: value, freshness: freshness, owner: owner), for: key.resource)
  }
}

extension HTTPError {
  /// The error of a request that the cache cannot answer and that must not go to the server, with the status that RFC 9111,
  /// section 5.2.1.7, requires.
  fileprivate static var notInCache: HTTPError {
    var error = HTTPError(
      .badServerResponse, "download", code: CInt(HTTPResponse.Status.gatewayTimeout.code), domain: .http,
      message: "there is no answer in the cache, and the policy forbids asking the server")
    error.response = HTTPResponse(status: .gatewayTimeout)
    return error
  }
}

extension HTTPTaskOptions {
  /// Returns a closure that follows redirects as these options do, and removes the conditions of the first URL. Another URL
  /// could meet them by chance (RFC 9110 §15.4).
  fileprivate func redirects(
    without conditions: HTTPFields
  ) -> @Sendable (HTTPRedirect) async -> HTTPRequest? {
    { [onRedirect] redirect in
      var next = redirect.next
      for field in conditions { next.headerFields[field.name] = nil }
      guard let onRedirect else { return next }
      return await onRedirect(
        HTTPRedirect(request: redirect.request, response: redirect.response, next: next, count: redirect.count))
    }
  }
}

/// The order in which waiting requests begin.
public enum DownloadOrder: Hashable, Sendable {
  /// The request that has waited longest begins next.
  case firstInFirstOut
  /// The newest request begins next, because it is most likely for what is on the screen now.
  case lastInFirstOut
}

/// A receipt for one call of a ``Downloader`` with a completion. With it, you can cancel that call.
public struct DownloadReceipt: Hashable, Sendable {
  let number: UInt64
}

/// The identity of a download. Downloads are equal if their method, URL, header fields, policy and cache control are equal.
struct DownloadKey: Hashable, Sendable {
  let resource: CachedResource
  let policy: HTTPCachePolicy
  private let control: CacheControl
  /// The request that came first.
  let request: HTTPRequest

  init(_ request: HTTPRequest, _ policy: HTTPCachePolicy) {
    resource = CachedResource(request)
    self.policy = policy
    control = CacheControl(of: request)
    self.request = request
  }

  static func == (left: DownloadKey, right: DownloadKey) -> Bool {
    left.policy == right.policy && left.resource == right.resource && left.control == right.control
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(resource)
    hasher.combine(policy)
  }
}
