import NetwatchEventLoop
import Testing

extension EventLoop {
  /// Runs until someone stops the loop, and fails the test where nobody does.
  func runPatiently(_ location: SourceLocation = #_sourceLocation) throws {
    let deadline = schedule(at: KernelClock.monotonic.now + .seconds(30)) { [unowned self] in
      Issue.record("nothing has come in 30 s", sourceLocation: location)
      stop()
    }
    try run()
    cancel(deadline)
  }
}
