import Synchronization

/// A request that runs. It is over when someone calls ``end()``, or when the token goes out of scope.
///
/// Not copyable, so that it costs no allocation; to share it between tasks, put it into an object of your own.
public struct RequestToken: ~Copyable, Sendable {
  private let core: ActivityCore
  private let ticket: RequestSet.Ticket
  /// Spares the lock where a token that has ended goes out of scope.
  private let hasEnded = Atomic(false)

  init(_ core: ActivityCore, _ ticket: RequestSet.Ticket) {
    self.core = core
    self.ticket = ticket
  }

  deinit {
    if !hasEnded.load(ordering: .relaxed) { core.end(ticket) }
  }

  /// Ends the request. Counts once, from whatever thread and however often.
  public func end() {
    if !hasEnded.exchange(true, ordering: .relaxed) { core.end(ticket) }
  }
}
