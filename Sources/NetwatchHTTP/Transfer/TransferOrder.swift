import HTTPTypes
import Netwatch
import Synchronization

/// What a transfer has brought, before anybody has decoded it.
typealias TransferOutcome = Result<HTTPReply<ReceivedBody>, HTTPError>

/// Who hears of it, on the loop's thread.
enum TransferCompletion: Sendable {
  /// The caller's completion has run when this returns.
  case atOnce(@Sendable (TransferOutcome) -> Void)
  /// The ticket is released when the caller's completion has run.
  case later(@Sendable (TransferOutcome, DeliveryTicket) -> Void)
  case awaited(OutcomeContinuation)

  fileprivate var isLater: Bool { if case .later = self { true } else { false } }
}

/// For a caller that waits. No ticket: the loop's thread could be the one that releases it last, after the caller has gone on.
struct AwaitedOutcome: Sendable {
  let outcome: TransferOutcome
  fileprivate let id: RequestID
  fileprivate let observer: (any RequestObserver)?
  fileprivate let ledger: DeliveryLedger
  /// Held until the caller goes on, whose thread has made it: to free it on the loop's would be slower. Nil if it is gone.
  fileprivate var order: TransferOrder?

  /// To be called once, when the caller goes on.
  func end() {
    observer?.ended(id)
    ledger.remove()
  }
}

/// Where a caller waits. Unchecked: a check costs an allocation a request, and a ``TransferOrder`` completes once.
@safe struct OutcomeContinuation: Sendable {
  private let continuation: UnsafeContinuation<AwaitedOutcome, Never>

  init(_ continuation: UnsafeContinuation<AwaitedOutcome, Never>) { unsafe self.continuation = continuation }

  /// To be called once.
  fileprivate func resume(returning outcome: AwaitedOutcome) { unsafe continuation.resume(returning: outcome) }
}

/// A caller that waits, and what it waits for. To be woken once.
struct WaitingCaller: Sendable {
  fileprivate let continuation: OutcomeContinuation
  fileprivate var outcome: AwaitedOutcome

  func wake() { continuation.resume(returning: outcome) }
}

/// All that a transfer has to know, and its one completion.
///
/// An order that is dropped on its way, because its session has ended, completes with `invalidated`.
final class TransferOrder: Sendable {
  let id: RequestID
  let request: HTTPRequest
  let body: HTTPBody?
  let options: HTTPTaskOptions
  /// Where redirects may take the credentials of the session.
  let scope: CredentialScope
  /// The fields that the caller has given for this request alone.
  let own: HTTPFields
  /// Nil: the body is kept in memory.
  let makeSink: (@Sendable (TransferWaker) -> any BodySink)?
  /// For progress; nil where nobody wants to hear of it.
  let callbacks: CallbackQueue?
  let status = TaskStatus()
  /// Of its reply.
  let facts: ReplyFacts
  private let ledger: DeliveryLedger
  private let isComplete = Atomic(false)
  private let completion: TransferCompletion

  init(
    _ id: RequestID, _ request: HTTPRequest, _ body: HTTPBody?, _ options: consuming HTTPTaskOptions,
    _ ledger: DeliveryLedger, _ scope: CredentialScope, own: HTTPFields, callbacks: CallbackQueue?,
    makeSink: (@Sendable (TransferWaker) -> any BodySink)?, completion: TransferCompletion
  ) {
    self.id = id
    facts = ReplyFacts(to: request)
    self.request = request
    self.body = body
    self.options = options
    self.ledger = ledger
    self.scope = scope
    self.own = own
    self.callbacks = callbacks
    self.makeSink = makeSink
    self.completion = completion
    ledger.add()
  }

  deinit {
    guard !isComplete.load(ordering: .acquiring) else { return }
    status.change { $0.state = .finished }
    // Not from within whatever the caller was doing when he dropped it.
    Task { [completion, id, ledger] in
      Self.complete(completion, .failure(HTTPError(.invalidated, "request")), id, nil, ledger)?.wake()
    }
  }

  /// Once.
  ///
  /// - Parameter observer: to be told, after the completion, that the request's activity has ended.
  /// - Returns: a caller to be woken; nil if the completion has run, or will.
  func complete(_ outcome: TransferOutcome, _ observer: (any RequestObserver)?) -> WaitingCaller? {
    isComplete.store(true, ordering: .releasing)
    status.change { $0.state = .finished }
    if let callbacks, !completion.isLater {
      // Behind the last report of progress.
      let end = SureJob { [completion, id, ledger] in Self.complete(completion, outcome, id, observer, ledger)?.wake() }
      callbacks.append { end.run() }
      return nil
    }
    var caller = Self.complete(completion, outcome, id, observer, ledger)
    caller?.outcome.order = self
    return caller
  }

  private static func complete(
    _ completion: TransferCompletion, _ outcome: TransferOutcome, _ id: RequestID,
    _ observer: (any RequestObserver)?, _ ledger: DeliveryLedger
  ) -> WaitingCaller? {
    switch completion {
    case .atOnce(let complete):
      complete(outcome)
      observer?.ended(id)
      ledger.remove()
    case .later(let complete): complete(outcome, DeliveryTicket(id, observer, ledger))
    case .awaited(let continuation):
      return WaitingCaller(
        continuation: continuation,
        outcome: AwaitedOutcome(outcome: outcome, id: id, observer: observer, ledger: ledger))
    }
    return nil
  }
}

/// What others may know of a running transfer.
final class TaskStatus: Sendable {
  struct Facts: Sendable {
    var state = HTTPTask.State.suspended
    var progress = HTTPProgress()
  }

  private let facts = InlineLock(Facts())

  var now: Facts { facts.withLock { $0 } }

  func change(_ body: (inout Facts) -> Void) { facts.withLock { body(&$0) } }
}
