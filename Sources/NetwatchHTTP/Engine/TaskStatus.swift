import Netwatch

/// What others may know of a transfer, from any thread.
final class TaskStatus: Sendable {
  private struct Facts: Sendable {
    var phase = TransferMachine.Phase.suspended
    var progress = HTTPProgress()
    var readers: [AsyncStream<HTTPProgress>.Continuation] = []
  }

  private let facts: InlineLock<Facts>
  /// The callers' wish, which the transfer may not have followed yet, and how many tasks can change it.
  private let wish: InlineLock<(isSuspended: Bool, holders: Int)>

  init(_ phase: TransferMachine.Phase = .suspended, _ progress: HTTPProgress = HTTPProgress()) {
    wish = InlineLock((false, 0))
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

  // MARK: Its holders

  /// One more public task stands for the transfer.
  func retain() { wish.withLock { $0.holders += 1 } }

  /// One less.
  ///
  /// - Returns: whether nobody can resume the transfer any more, although it is suspended.
  func release() -> Bool {
    wish.withLock { wish in
      wish.holders -= 1
      return wish.holders == 0 && wish.isSuspended
    }
  }

  /// - Parameter send: Called under a lock, so that the loop hears of the wishes of several threads in the same order.
  func wish(isSuspended: Bool, _ send: () -> Void) {
    wish.withLock { wish in
      wish.isSuspended = isSuspended
      send()
    }
  }
}
