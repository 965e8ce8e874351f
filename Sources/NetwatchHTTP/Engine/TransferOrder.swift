import HTTPTypes
import Netwatch
import NetwatchEventLoop
import Synchronization

/// Who hears of it, on the loop's thread.
@safe enum TransferCompletion: Sendable {
  /// The caller's completion has run when this returns.
  case atOnce(@Sendable (TransferOrder.Outcome) -> Void)
  /// The second value is fulfilled, or released, when the caller's completion has run.
  case later(@Sendable (TransferOrder.Outcome, OneShot<Void>) -> Void)
  /// The caller goes on with the order, which has its outcome; with nil where the session has ended before. Unchecked: a check
  /// costs an allocation a request, and a ``TransferOrder`` completes once.
  case awaited(UnsafeContinuation<TransferOrder?, Never>)
}

/// All that a transfer has to know, and its one completion.
///
/// An order that is dropped on its way, because its session has ended, completes with `invalidated`.
final class TransferOrder: Sendable {
  /// What a transfer has brought, before anybody has decoded it.
  typealias Outcome = Result<HTTPReply<ReceivedBody>, HTTPError>

  let id: RequestID
  let kind: HTTPTaskInfo.Kind
  let shared: SharedRequest
  let body: HTTPBody?
  private let sharedOptions: SharedOptions
  /// Where redirects may take the credentials of the session.
  let scope: CredentialScope
  /// The fields that the caller has given for this request alone.
  let own: HTTPFields
  /// Why there is nothing to send; nil if there is.
  let refusal: HTTPError?
  /// Given what gets the transfer going again after a pause. Nil: the body is kept in memory.
  let makeSink: (@Sendable (_ goOn: @escaping @Sendable () -> Void) -> any BodySink)?
  /// For progress; nil where nobody wants to hear of it, and once it is complete: the last callback holds the order.
  private let callbacks: InlineLock<CallbackQueue?>
  /// Nil where nobody has a task to ask.
  let status: TaskStatus?
  /// Of its reply.
  let facts: ReplyFacts
  private let pending: PendingCompletions
  private let isComplete = Atomic(false)
  private let completion: TransferCompletion
  /// What a caller that waits finds, and whom it tells of the activity's end.
  private let delivery = InlineLock<(outcome: Outcome, observer: (any RequestObserver)?)?>(nil)

  init(
    _ id: RequestID, _ call: consuming PreparedCall, _ pending: PendingCompletions, _ scope: CredentialScope,
    callbacks: CallbackQueue?, status: TaskStatus?,
    makeSink: (@Sendable (_ goOn: @escaping @Sendable () -> Void) -> any BodySink)?, completion: TransferCompletion
  ) {
    self.id = id
    shared = SharedRequest(call.request)
    facts = ReplyFacts(to: shared)
    body = call.body
    sharedOptions = call.shared
    own = call.own
    kind = call.kind
    refusal = call.refusal
    self.pending = pending
    self.scope = scope
    self.callbacks = InlineLock(callbacks)
    self.status = status
    self.makeSink = makeSink
    self.completion = completion
    pending.add()
  }

  deinit {
    guard !isComplete.load(ordering: .acquiring) else { return }
    status?.end()
    // Not from within whatever the caller was doing when he dropped it.
    Task { [completion, pending] in
      switch completion {
      case .atOnce(let complete):
        complete(.failure(Self.invalidated))
        pending.remove()
      case .later(let complete): complete(.failure(Self.invalidated), OneShot { pending.remove() })
      case .awaited(let continuation): unsafe continuation.resume(returning: nil)
      }
    }
  }

  var request: HTTPRequest { shared.value }
  var options: HTTPTaskOptions { sharedOptions.value }
  var info: HTTPTaskInfo { HTTPTaskInfo(id: id, kind: kind, label: options.label) }

  private static var invalidated: HTTPError { HTTPError(.invalidated, "request") }

  func report(_ progress: HTTPProgress) { callbacks.withLock { $0 }?.report(progress) }

  /// Once.
  ///
  /// - Parameter observer: to be told, after the completion, that the request's activity has ended.
  /// - Returns: whether a caller waits, for whom ``wake()`` is to be called; otherwise the completion has run, or will.
  func complete(_ outcome: Outcome, _ observer: (any RequestObserver)?) -> Bool {
    isComplete.store(true, ordering: .releasing)
    status?.end()
    let callbacks = callbacks.withLock { $0.take() }
    switch completion {
    case .atOnce(let complete):
      guard let callbacks else {
        complete(outcome)
        observer?.ended(id)
        pending.remove()
        return false
      }
      let end = end(observer)
      callbacks.append {
        complete(outcome)
        end.fulfill()
      }
    case .later(let complete): complete(outcome, end(observer))
    case .awaited:
      delivery.withLock { $0 = (outcome, observer) }
      guard let callbacks else { return true }
      // Behind the last report of progress.
      let end = OneShot { [self] in wake() }
      callbacks.append { end.fulfill() }
    }
    return false
  }

  /// Holds no order, whose completion may hold the queue that holds this.
  private func end(_ observer: (any RequestObserver)?) -> OneShot<Void> {
    OneShot { [id, pending] in
      observer?.ended(id)
      pending.remove()
    }
  }

  /// Lets the caller that waits go on. To be called once.
  func wake() {
    if case .awaited(let continuation) = completion { unsafe continuation.resume(returning: self) }
  }

  /// For the caller that has waited. It ends the request itself: the loop could do that after the caller has gone on.
  ///
  /// - Parameter body: Makes a value of what the transfer has brought, while the request is active.
  static func finish<Value>(
    _ order: TransferOrder?, _ pending: PendingCompletions, _ body: (HTTPReply<ReceivedBody>) throws(HTTPError) -> Value
  ) throws(HTTPError) -> Value {
    guard let order, let delivery = order.delivery.withLock({ $0.take() }) else {
      pending.remove()
      throw Self.invalidated
    }
    defer {
      delivery.observer?.ended(order.id)
      pending.remove()
    }
    return try body(delivery.outcome.get())
  }
}
