import Synchronization

/// A request that runs until you call ``end()`` or the token goes out of scope.
///
/// The token cannot be copied, so it needs no allocation. To share it between tasks, put it into an object of your own.
public struct RequestToken: ~Copyable, Sendable {
  private let core: ActivityCore
  private let ticket: RequestSet.Ticket
  /// Avoids the lock if a token that has ended goes out of scope.
  private let hasEnded = Atomic(false)

  init(_ core: ActivityCore, _ ticket: RequestSet.Ticket) {
    self.core = core
    self.ticket = ticket
  }

  deinit {
    if !hasEnded.load(ordering: .relaxed) { core.end(ticket) }
  }

  /// Ends the request. Can be called from any thread; only the first call has an effect.
  public func end() {
    if !hasEnded.exchange(true, ordering: .relaxed) { core.end(ticket) }
  }
}
