/// A request that runs. It is over when someone calls ``end()``, or when the token goes out of scope.
///
/// Not copyable, so that it costs no allocation; to share it between tasks, put it into an object of your own.
public struct RequestToken: ~Copyable, Sendable {
  private let indicator: ActivityIndicator
  private let ticket: RequestSet.Ticket

  init(_ indicator: ActivityIndicator, _ ticket: RequestSet.Ticket) {
    self.indicator = indicator
    self.ticket = ticket
  }

  deinit { indicator.end(ticket) }

  /// Ends the request. Counts once, from whatever thread and however often.
  public func end() { indicator.end(ticket) }
}
