import Glibc
import NetwatchEventLoop

/// Tells when children have ended. One for all of a loop's: the kernel tells of an end once.
final class ChildEndings {
  private struct Child {
    let process: pid_t
    let body: (ChildProcess.Ending) -> Void
  }

  private var children: [Child] = []
  private var signals: SignalSource?

  init(on loop: EventLoop) throws(SystemError) {
    // Whoever started us may ignore it, and then nobody would learn that a child has ended.
    signal(SIGCHLD, SIG_DFL)
    signals = try SignalSource([SIGCHLD], on: loop) { [unowned self] _ in reap() }
  }

  /// Calls `body` from the loop, once.
  func whenEnded(_ process: pid_t, _ body: @escaping (ChildProcess.Ending) -> Void) {
    children.append(Child(process: process, body: body))
  }

  /// Ends of several children may be told as one.
  private func reap() {
    for child in children {
      guard let ending = ChildProcess.ending(of: child.process) else { continue }
      children.removeAll { $0.process == child.process }
      child.body(ending)
    }
  }
}
