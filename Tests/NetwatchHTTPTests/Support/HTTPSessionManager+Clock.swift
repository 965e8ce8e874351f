import NetwatchTestSupport

@testable import NetwatchHTTP

extension HTTPSessionManager {
  /// Lets time pass on the clock of the session's threads, and waits until everything that is due has been done.
  func pass(_ time: Duration, on clock: ManualClock) async {
    clock.advance(by: time)
    // The threads handle what they are given in its order.
    _ = await tasks()
  }
}
