import HTTPTypes
import Netwatch
import Synchronization

/// What a transfer has brought, before anybody has decoded it.
typealias TransferOutcome = Result<HTTPReply<ReceivedBody>, HTTPError>

/// All that a transfer has to know, and its one completion.
///
/// An order that is dropped on its way, because its session has ended, completes with `invalidated`.
final class TransferOrder: Sendable {
  let id: RequestID
  let request: HTTPRequest
  let body: HTTPBody?
  let options: HTTPTaskOptions
  let makeSink: @Sendable (TransferWaker) -> any BodySink
  /// For progress; nil where nobody wants to hear of it.
  let callbacks: CallbackQueue?
  let status = TaskStatus()
  private let ledger: DeliveryLedger
  private let isComplete = Atomic(false)
  /// Called on the loop's thread; the ticket is released when the caller's completion has run.
  private let completion: @Sendable (TransferOutcome, DeliveryTicket) -> Void

  init(
    _ id: RequestID, _ request: HTTPRequest, _ body: HTTPBody?, _ options: HTTPTaskOptions, _ ledger: DeliveryLedger,
    callbacks: CallbackQueue?,
    makeSink: @escaping @Sendable (TransferWaker) -> any BodySink,
    completion: @escaping @Sendable (TransferOutcome, DeliveryTicket) -> Void
  ) {
    self.id = id
    self.request = request
    self.body = body
    self.options = options
    self.makeSink = makeSink
    self.callbacks = options.onProgress == nil ? nil : callbacks
    self.ledger = ledger
    self.completion = completion
    ledger.add()
  }

  deinit {
    guard !isComplete.load(ordering: .acquiring) else { return }
    status.change { $0.state = .finished }
    // Not from within whatever the caller was doing when he dropped it.
    let ticket = DeliveryTicket(id, nil, ledger)
    Task { [completion] in completion(.failure(HTTPError(.invalidated, "request")), ticket) }
  }

  /// - Parameter observer: to be told, after the completion, that the request's activity has ended.
  func complete(_ outcome: TransferOutcome, _ observer: (any RequestObserver)?) {
    guard !isComplete.exchange(true, ordering: .acquiringAndReleasing) else { return }
    status.change { $0.state = .finished }
    completion(outcome, DeliveryTicket(id, observer, ledger))
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
