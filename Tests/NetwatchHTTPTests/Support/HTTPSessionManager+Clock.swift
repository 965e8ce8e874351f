import NetwatchTestSupport

@testable import NetwatchHTTP

extension HTTPSessionManager {
  /// Lets time pass on the clock of the session's threads, and waits until everything that is due has been done.
  func pass(_ time: Duration, on clock: ManualClock) async {
    // The threads handle what they are given in its order. What has begun has its deadline when they come to this.
    _ = await tasks()
    clock.advance(by: time)
    _ = await tasks()
  }
}
