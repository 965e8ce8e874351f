import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// Downloads what many may ask for at once, such as images: equal requests share one transfer, few transfers run at a time, and
/// what has come is kept in memory for as long as HTTP allows.
///
/// From any thread; no call waits. It comes to the end of what it was asked for when nobody holds it.
public final class Downloader<Serializer: ResponseSerializer>: Sendable where Serializer.Value: CacheCost {
  /// What a download brings.
  public typealias Value = Serializer.Value
  /// What keeps it, unless you have a ``DownloadCache`` of your own.
  public typealias Cache = AutoPurgingCache<CachedResource, CachedReply<Value>>
  /// Takes it, or why there is none.
  public typealias Completion = @Sendable (Result<HTTPReply<Value>, HTTPError>) -> Void

  private struct State: Sendable {
    var machine: DownloaderMachine<DownloadKey>
    var waiters: [UInt64: Waiter] = [:]
    var tasks: [UInt64: HTTPTask] = [:]
    var lastReceipt: UInt64 = 0
  }

  /// The session is not done before `hold` is.
  private typealias Waiter = (completion: Completion, hold: OneShot<Void>)
  /// How a transfer has ended. It is over when `end` is released.
  private typealias Outcome = (result: Result<HTTPReply<Value>, HTTPError>, end: OneShot<Void>)

  /// Makes the requests.
  public let session: HTTPSessionManager
  /// Others may share it. What a server has answered to one session's credentials or cookies, or has called private, is
  /// given to no other session, and to no other credential.
  public let cache: any DownloadCache<CachedReply<Value>>
  private let serializer: Serializer
  private let options: HTTPTaskOptions
  private let owner: CacheOwner
  private let callbacks: CallbackQueue
  private let state: Lock<State>
  private let now: @Sendable () -> Duration

  /// - Parameters:
  ///   - session: makes the requests.
  ///   - serializer: makes a value of each response; ``ImageResponseSerializer``, or ``HTTPResponseSerializer`` for bytes.
  ///   - limit: how many transfers run at once.
  ///   - order: which of those that wait is the next.
  ///   - cache: What keeps the replies: a ``DownloadCache``. Default: a new ``AutoPurgingCache``.
  ///   - options: of all transfers. Completions run where they say, one at a time.
  public convenience init(
    session: HTTPSessionManager, as serializer: Serializer, limit: Int = 4, order: DownloadOrder = .firstInFirstOut,
    cache: any DownloadCache<CachedReply<Value>> = Cache(), options: HTTPTaskOptions = HTTPTaskOptions()
  ) {
    self.init(session: session, as: serializer, limit: limit, order: order, cache: cache, options: options) {
      KernelClock.boot.now
    }
  }

  /// - Parameter now: goes on while the machine sleeps.
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
    callbacks = CallbackQueue(self.options)
    state = Lock(State(machine: DownloaderMachine(limit: limit, order: order)))
  }

  /// Asks for a download.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL of the session, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///     A call's body and options have no effect, since equal requests share one transfer.
  ///   - policy: what the cache is good for.
  ///   - completion: called once for each receipt, never before this returns.
  @discardableResult
  public func download(
    _ request: some RequestConvertible, policy: HTTPCachePolicy = .standard, completion: @escaping Completion
  ) -> DownloadReceipt {
    let call = session.prepare(request, nil, options)
    let key = DownloadKey(call.request, policy)
    let answer = call.refusal.map { .failure($0) } ?? answerWithoutServer(for: key)
    let waiter = (completion: completion, hold: session.pending.hold())
    let receipt = state.withLock { state in
      state.lastReceipt += 1
      let receipt = state.lastReceipt
      if let answer {
        callbacks.enqueue {
          waiter.completion(answer)
          waiter.hold.fulfill()
        }
      } else {
        state.waiters[receipt] = waiter
        handle(.requested(receipt, key), nil, &state)
      }
      return receipt
    }
    callbacks.flush()
    return DownloadReceipt(number: receipt)
  }

  /// Ends one receipt with `cancelled`, unless it was answered. The last one takes its transfer with it.
  public func cancel(_ receipt: DownloadReceipt) { handle(.cancelled(receipt.number)) }

  /// Asks for a download, and waits for it. A Swift task that is cancelled cancels its receipt.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL of the session, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - policy: What the cache is good for.
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

  /// The transfers that run.
  public var activeCount: Int { state.withLock { $0.machine.activeCount } }

  // MARK: The machine

  private func handle(_ event: DownloaderMachine<DownloadKey>.Event, _ outcome: Outcome? = nil) {
    state.withLock { handle(event, outcome, &$0) }
    callbacks.flush()
  }

  /// Under the lock, so that transfers are begun before they are cancelled.
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
    _ receipt: UInt64, _ result: Result<HTTPReply<Value>, HTTPError>, _ end: OneShot<Void>?, _ state: inout State
  ) {
    guard let waiter = state.waiters.removeValue(forKey: receipt) else { return }
    callbacks.enqueue {
      waiter.completion(result)
      waiter.hold.fulfill()
      // Of the transfer: the last one who is answered ends it.
      withExtendedLifetime(end) {}
    }
  }

  private func begin(_ id: UInt64, _ key: DownloadKey) -> HTTPTask {
    var request = key.request
    let stale = key.policy == .ignoresCache ? nil : kept(for: key)
    var options = options
    if key.policy != .standard { options.cachePolicy = key.policy }
    if let conditions = stale?.freshness.conditions {
      request.headerFields.append(contentsOf: conditions)
      options.onRedirect = options.redirects(without: conditions)
    }
    let began = now()
    let status = TaskStatus()
    let order = session.order(
      PreparedCall(request: request, shared: SharedOptions(options), own: request.headerFields), status: status,
      completion: .later { outcome, end in
        Task {
          let result = outcome.converted { reply throws(HTTPError) in
            try self.value(of: reply, key, stale, began: began)
          }
          self.handle(.ended(id), (result, end))
        }
      })
    return HTTPTask(order, status, session.engines.inbox(of: order.id), isSuspended: false)
  }

  // MARK: What is kept

  private func kept(for key: DownloadKey) -> CachedReply<Value>? {
    guard CacheFreshness.isCacheable(key.request), let kept = cache.value(for: key.resource) else { return nil }
    return kept.owner == nil || kept.owner == owner ? kept : nil
  }

  /// Nil if the server is to be asked.
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
    case .ignoresCache, .revalidates: false
    }
  }

  private func value(
    of reply: HTTPReply<ReceivedBody>, _ key: DownloadKey, _ stale: CachedReply<Value>?, began: Duration
  ) throws(HTTPError) -> HTTPReply<Value> {
    // What a redirect has led to is another resource: it neither confirms what is kept here, nor takes its place.
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
  /// As RFC 9111, section 5.2.1.7, has a cache answer that must not ask the server.
  fileprivate static var notInCache: HTTPError {
    var error = HTTPError(
      .badServerResponse, "download", code: CInt(HTTPResponse.Status.gatewayTimeout.code),
      message: "there is no answer in the cache, and the policy forbids to ask the server")
    error.response = HTTPResponse(status: .gatewayTimeout)
    return error
  }
}

extension HTTPTaskOptions {
  /// What follows redirects as these options do, and takes out what was for the first URL alone: it could be true of another
  /// one by chance (RFC 9110 §15.4).
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
