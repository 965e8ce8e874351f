import Netwatch

/// The public state of a transfer. All members can be used from any thread.
final class TaskStatus: Sendable {
  private struct Facts: Sendable {
    var phase = TransferMachine.Phase.suspended
    var progress = HTTPProgress()
    var readers: [AsyncStream<HTTPProgress>.Continuation] = []
  }

  private let facts: Lock<Facts>
  /// The wish of the callers, which the transfer may not have followed yet; and the number of task objects that can change it.
  private let wish: Lock<(isSuspended: Bool, holders: Int)>

  init(_ phase: TransferMachine.Phase = .suspended, _ progress: HTTPProgress = HTTPProgress()) {
    wish = Lock((false, 0))
    facts = Lock(Facts(phase: phase, progress: progress))
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

  /// Ends the status with the transfer.
  func end() {
    let readers = facts.withLock { facts in
      facts.phase = .over(wasActive: false)
      defer { facts.readers = [] }
      return facts.readers
    }
    for reader in readers { reader.finish() }
  }

  /// Returns the current progress, and then each change. A slow reader gets the newest figures. The sequence ends with the
  /// transfer.
  func progressUpdates() -> AsyncStream<HTTPProgress> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { reader in
      let isOver = facts.withLock { facts in
        reader.yield(facts.progress)
        if case .over = facts.phase { return true }
        // Sequences that nobody reads any more are removed.
        facts.readers.removeAll { if case .terminated = $0.yield(facts.progress) { true } else { false } }
        facts.readers.append(reader)
        return false
      }
      if isOver { reader.finish() }
    }
  }

  // MARK: Its holders

  /// Counts a new task object for the transfer.
  func retain() { wish.withLock { $0.holders += 1 } }

  /// Counts the release of a task object.
  ///
  /// - Returns: Whether no task object is left that could resume the suspended transfer.
  func release() -> Bool {
    wish.withLock { wish in
      wish.holders -= 1
      return wish.holders == 0 && wish.isSuspended
    }
  }

  /// - Parameter send: Called under a lock, so that the loop gets the wishes of several threads in the same order.
  func wish(isSuspended: Bool, _ send: () -> Void) {
    wish.withLock { wish in
      wish.isSuspended = isSuspended
      send()
    }
  }
}
