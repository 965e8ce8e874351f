import NetwatchEventLoop
import Testing

extension EventLoop {
  /// Runs until someone stops the loop, and fails the test where nobody does.
  func runPatiently(_ location: SourceLocation = #_sourceLocation) throws {
    let deadline = LoopTimer(on: self) { [unowned self] in
      Issue.record("nothing has come in 30 s", sourceLocation: location)
      stop()
    }
    deadline.set(after: .seconds(30))
    try run()
    deadline.stop()
  }
}
