import Netwatch

/// What others may know of a transfer, from any thread.
final class TaskStatus: Sendable {
  private struct Facts: Sendable {
    var phase = TransferMachine.Phase.suspended
    var progress = HTTPProgress()
    var readers: [AsyncStream<HTTPProgress>.Continuation] = []
    weak var handle: (any AnyObject & Sendable)?
  }

  private let facts: InlineLock<Facts>

  init(_ phase: TransferMachine.Phase = .suspended, _ progress: HTTPProgress = HTTPProgress()) {
    facts = InlineLock(Facts(phase: phase, progress: progress))
  }

  var phase: TransferMachine.Phase { facts.withLock { $0.phase } }
  var progress: HTTPProgress { facts.withLock { $0.progress } }

  func change(to phase: TransferMachine.Phase) { facts.withLock { $0.phase = phase } }

  func change(to progress: HTTPProgress) {
    facts.withLock { facts in
      facts.progress = progress
      for reader in facts.readers { reader.yield(progress) }
    }
  }

  /// The transfer is over.
  func end() {
    let readers = facts.withLock { facts in
      facts.phase = .over(wasActive: false)
      defer { facts.readers = [] }
      return facts.readers
    }
    for reader in readers { reader.finish() }
  }

  /// The progress now, and whenever it changes; a reader that is slow gets the newest. Ends with the transfer.
  func progressUpdates() -> AsyncStream<HTTPProgress> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { reader in
      let isOver = facts.withLock { facts in
        reader.yield(facts.progress)
        if case .over = facts.phase { return true }
        // Those that nobody reads any more are dropped.
        facts.readers.removeAll { if case .terminated = $0.yield(facts.progress) { true } else { false } }
        facts.readers.append(reader)
        return false
      }
      if isOver { reader.finish() }
    }
  }

  /// The public handle of the task: the one that there is, or a new one.
  func handle<Handle: AnyObject & Sendable>(orMake make: () -> Handle) -> Handle {
    facts.withLock { facts in
      if let handle = facts.handle as? Handle { return handle }
      let handle = make()
      facts.handle = handle
      return handle
    }
  }
}
