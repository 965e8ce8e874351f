import Glibc
import NetwatchTestSupport
import Testing

/// What takes a kernel of one's own: radios, modems, modules that are unloaded, a machine that sleeps.
///
/// contrib/verify guest boots one and runs these in it; contrib/test leaves them out.
///
/// There is one kernel with one set of radios, so one test runs at a time.
@Suite(.serialized, .enabled(if: Guest.isHere, "contrib/verify guest runs these")) enum GuestTests {}

enum Guest {
  static let isHere = unsafe getenv("NETWATCH_GUEST") != nil

  /// Runs a command of the shell outside of any namespace of a test.
  static func run(_ command: String) throws {
    let result = try ChildProcess.run(["sh", "-c", command])
    guard result.ending == .exited(0) else { throw TestFailure("\(command): \(result.ending) \(result.error)") }
  }
}

extension ChildProcess {
  /// Waits until it says so.
  func wait(for text: String) throws {
    while let line = try nextLine() {
      if line.contains(text) { return }
    }
    throw TestFailure("process \(pid) has ended without \"\(text)\"")
  }
}
