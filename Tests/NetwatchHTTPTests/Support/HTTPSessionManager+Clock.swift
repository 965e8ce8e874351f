import NetwatchTestSupport

@testable import NetwatchHTTP

extension HTTPSessionManager {
  /// Advances the clock of the session's threads, and waits until everything that is due then has been done.
  func pass(_ time: Duration, on clock: ManualClock) async {
    // The threads do their work in order. When they answer this, each task that was started before has its deadline.
    _ = await tasks()
    clock.advance(by: time)
    _ = await tasks()
  }
}
