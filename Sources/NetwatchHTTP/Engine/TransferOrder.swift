import HTTPTypes
import Netwatch
import Synchronization

/// Who hears of it, on the loop's thread.
@safe enum TransferCompletion: Sendable {
  /// The caller's completion has run when this returns.
  case atOnce(@Sendable (TransferOrder.Outcome) -> Void)
  /// The second value is fulfilled, or released, when the caller's completion has run.
  case later(@Sendable (TransferOrder.Outcome, OneShot<Void>) -> Void)
  /// Unchecked: a check costs an allocation a request, and a ``TransferOrder`` completes once.
  case awaited(UnsafeContinuation<AwaitedOutcome, Never>)

  fileprivate var isLater: Bool { if case .later = self { true } else { false } }
}

/// For a caller that waits. It ends the request itself: the loop's thread could be the one that releases a ``OneShot`` last,
/// after the caller has gone on.
@safe struct AwaitedOutcome: Sendable {
  let outcome: TransferOrder.Outcome
  fileprivate let continuation: UnsafeContinuation<AwaitedOutcome, Never>
  fileprivate let id: RequestID
  fileprivate let observer: (any RequestObserver)?
  fileprivate let pending: PendingCompletions
  /// Held until the caller goes on, whose thread has made it: to free it on the loop's would be slower. Nil if it is gone.
  fileprivate var order: TransferOrder?

  /// Wakes the caller. To be called once.
  func wake() { unsafe continuation.resume(returning: self) }

  /// To be called once, when the caller goes on.
  func end() {
    observer?.ended(id)
    pending.remove()
  }
}

/// All that a transfer has to know, and its one completion.
///
/// An order that is dropped on its way, because its session has ended, completes with `invalidated`.
final class TransferOrder: Sendable {
  /// What a transfer has brought, before anybody has decoded it.
  typealias Outcome = Result<HTTPReply<ReceivedBody>, HTTPError>

  let id: RequestID
  let request: HTTPRequest
  let body: HTTPBody?
  let options: HTTPTaskOptions
  /// Where redirects may take the credentials of the session.
  let scope: CredentialScope
  /// The fields that the caller has given for this request alone.
  let own: HTTPFields
  /// Given what gets the transfer going again after a pause. Nil: the body is kept in memory.
  let makeSink: (@Sendable (_ goOn: @escaping @Sendable () -> Void) -> any BodySink)?
  /// For progress; nil where nobody wants to hear of it.
  let callbacks: CallbackQueue?
  let status = TaskStatus()
  /// Of its reply.
  let facts: ReplyFacts
  private let pending: PendingCompletions
  private let isComplete = Atomic(false)
  private let completion: TransferCompletion

  init(
    _ id: RequestID, _ request: HTTPRequest, _ body: HTTPBody?, _ options: consuming HTTPTaskOptions,
    _ pending: PendingCompletions, _ scope: CredentialScope, own: HTTPFields, callbacks: CallbackQueue?,
    makeSink: (@Sendable (_ goOn: @escaping @Sendable () -> Void) -> any BodySink)?, completion: TransferCompletion
  ) {
    self.id = id
    facts = ReplyFacts(to: request)
    self.request = request
    self.body = body
    self.options = options
    self.pending = pending
    self.scope = scope
    self.own = own
    self.callbacks = callbacks
    self.makeSink = makeSink
    self.completion = completion
    pending.add()
  }

  deinit {
    guard !isComplete.load(ordering: .acquiring) else { return }
    status.change { $0.phase = .over(wasActive: false) }
    // Not from within whatever the caller was doing when he dropped it.
    Task { [completion, id, pending] in
      Self.complete(completion, .failure(HTTPError(.invalidated, "request")), id, nil, pending)?.wake()
    }
  }

  /// Once.
  ///
  /// - Parameter observer: to be told, after the completion, that the request's activity has ended.
  /// - Returns: a caller to be woken; nil if the completion has run, or will.
  func complete(_ outcome: TransferOrder.Outcome, _ observer: (any RequestObserver)?) -> AwaitedOutcome? {
    isComplete.store(true, ordering: .releasing)
    status.change { $0.phase = .over(wasActive: false) }
    if let callbacks, !completion.isLater {
      // Behind the last report of progress.
      let end = OneShot { [completion, id, pending] in Self.complete(completion, outcome, id, observer, pending)?.wake()
      }
      callbacks.append { end.fulfill() }
      return nil
    }
    var caller = Self.complete(completion, outcome, id, observer, pending)
    caller?.order = self
    return caller
  }

  private static func complete(
    _ completion: TransferCompletion, _ outcome: TransferOrder.Outcome, _ id: RequestID,
    _ observer: (any RequestObserver)?, _ pending: PendingCompletions
  ) -> AwaitedOutcome? {
    switch completion {
    case .atOnce(let complete):
      complete(outcome)
      observer?.ended(id)
      pending.remove()
    case .later(let complete):
      let end = OneShot {
        observer?.ended(id)
        pending.remove()
      }
      complete(outcome, end)
    case .awaited(let continuation):
      return unsafe AwaitedOutcome(
        outcome: outcome, continuation: continuation, id: id, observer: observer, pending: pending)
    }
    return nil
  }
}

/// What others may know of a running transfer.
final class TaskStatus: Sendable {
  private let facts = InlineLock((phase: TransferMachine.Phase.suspended, progress: HTTPProgress()))

  var now: (phase: TransferMachine.Phase, progress: HTTPProgress) { facts.withLock { $0 } }

  func change(_ body: (inout (phase: TransferMachine.Phase, progress: HTTPProgress)) -> Void) {
    facts.withLock { body(&$0) }
  }
}
