import HTTPTypes
import Netwatch
import NetwatchEventLoop
import Synchronization

/// The receiver of a transfer's outcome. It is called on the loop's thread.
@safe enum TransferCompletion: Sendable {
  /// The caller's completion has run when the call returns.
  case atOnce(@Sendable (TransferOrder.Outcome) -> Void)
  /// The second value is fulfilled or released after the caller's completion has run.
  case later(@Sendable (TransferOrder.Outcome, OneShot<Void>) -> Void)
  /// The caller continues with the order, which has its outcome; or with nil if the session has ended before. The continuation
  /// is unchecked, because a check costs an allocation for each request, and a ``TransferOrder`` completes only once. The
  /// priority is that of the caller's task; nil for a task with an executor of its own.
  case awaited(UnsafeContinuation<TransferOrder?, Never>, TaskPriority?)
}

/// Everything that a transfer needs, with its one completion.
///
/// An order that is dropped because its session has ended completes with `invalidated`.
final class TransferOrder: Sendable {
  /// The outcome of a transfer, before it is decoded.
  typealias Outcome = Result<HTTPReply<ReceivedBody>, HTTPError>

  let id: RequestID
  let call: PreparedCall
  /// The origins to which redirects may take the session's credentials.
  let scope: CredentialScope
  /// Makes the destination of the body. It gets a closure that continues the transfer after a pause. Nil: the body is kept in
  /// memory.
  let makeSink: (@Sendable (_ goOn: @escaping @Sendable () -> Void) -> any BodySink)?
  /// The queue for progress. Nil if progress is not wanted, and after the completion, because the last callback holds the
  /// order.
  private let callbacks: Lock<CallbackQueue?>
  /// The public state of the task; nil if the caller has no task object.
  let status: TaskStatus?
  /// The facts of the response.
  let facts: ReplyFacts
  private let pending: PendingCompletions
  private let isComplete = Atomic(false)
  private let completion: TransferCompletion
  /// The outcome for a caller that waits, the observer to be notified when the activity ends, and the order whose caller this
  /// caller wakes.
  private let delivery = Lock<
    (outcome: Outcome, observer: Shared<any RequestObserver>?, next: TransferOrder?)?
  >(nil)

  init(
    _ id: RequestID, _ call: consuming PreparedCall, _ pending: PendingCompletions, _ scope: CredentialScope,
    callbacks: CallbackQueue?, status: TaskStatus?,
    makeSink: (@Sendable (_ goOn: @escaping @Sendable () -> Void) -> any BodySink)?, completion: TransferCompletion
  ) {
    self.id = id
    facts = ReplyFacts(to: call.sharedRequest)
    self.call = consume call
    self.pending = pending
    self.scope = scope
    self.callbacks = Lock(callbacks)
    self.status = status
    self.makeSink = makeSink
    self.completion = completion
    pending.add()
  }

  deinit {
    guard !isComplete.load(ordering: .acquiring) else { return }
    status?.end()
    // In a task, so that the completion does not run inside the code that has dropped the order.
    Task { [completion, pending] in
      switch completion {
      case .atOnce(let complete):
        complete(.failure(Self.invalidated))
        pending.remove()
      case .later(let complete): complete(.failure(Self.invalidated), OneShot { pending.remove() })
      case .awaited(let continuation, _): unsafe continuation.resume(returning: nil)
      }
    }
  }

  var request: HTTPRequest { call.request }
  var options: HTTPTaskOptions { call.options }
  var info: HTTPTaskInfo { HTTPTaskInfo(id: id, kind: call.kind, label: options.label) }

  private static var invalidated: HTTPError { HTTPError(.invalidated, "request") }

  func report(_ progress: HTTPProgress) { callbacks.withLock { $0 }?.report(progress) }

  /// Completes the order. To be called once.
  ///
  /// - Parameter observer: The observer to be notified, after the completion, that the request's activity has ended.
  /// - Returns: Whether a caller waits, for which ``wake()`` has to be called. Otherwise the completion has run, or will run.
  func complete(_ outcome: Outcome, _ observer: Shared<any RequestObserver>?) -> Bool {
    isComplete.store(true, ordering: .releasing)
    status?.end()
    let callbacks = callbacks.withLock { $0.take() }
    switch completion {
    case .atOnce(let complete):
      guard let callbacks else {
        complete(outcome)
        observer?.value.ended(id)
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
      delivery.withLock { $0 = (outcome, observer, nil) }
      guard let callbacks else { return true }
      // After the last report of progress.
      let end = OneShot { [self] in wake() }
      callbacks.append { end.fulfill() }
    }
    return false
  }

  /// Holds no order, because the order's completion may hold the queue that holds this.
  private func end(_ observer: Shared<any RequestObserver>?) -> OneShot<Void> {
    OneShot { [id, pending] in
      observer?.value.ended(id)
      pending.remove()
    }
  }

  /// Lets the waiting caller continue. To be called once.
  func wake() {
    if case .awaited(let continuation, _) = completion { unsafe continuation.resume(returning: self) }
  }

  /// Lets several waiting callers continue. Each wakes the next one of its priority before it does anything else: a thread that
  /// has been woken then finds its next work, instead of going to sleep until this thread wakes it again. A caller with an
  /// executor of its own is woken from here, because that executor may be busy for long.
  static func wake(_ callers: [TransferOrder]) {
    for (index, caller) in callers.enumerated().reversed() {
      if index > 0, let priority = caller.priority, priority == callers[index - 1].priority {
        callers[index - 1].delivery.withLock { $0?.next = caller }
      } else {
        caller.wake()
      }
    }
  }

  private var priority: TaskPriority? {
    if case .awaited(_, let priority) = completion { priority } else { nil }
  }

  /// Ends the request on behalf of the caller that has waited. The loop might do that only after the caller has continued.
  ///
  /// - Parameter body: Makes a value from the outcome, while the request is still active.
  static func finish<Value>(
    _ order: TransferOrder?, _ pending: PendingCompletions, _ body: (HTTPReply<ReceivedBody>) throws(HTTPError) -> Value
  ) throws(HTTPError) -> Value {
    guard let order, let delivery = order.delivery.withLock({ $0.take() }) else {
      pending.remove()
      throw Self.invalidated
    }
    delivery.next?.wake()
    defer {
      delivery.observer?.value.ended(order.id)
      pending.remove()
    }
    return try body(delivery.outcome.get())
  }
}
