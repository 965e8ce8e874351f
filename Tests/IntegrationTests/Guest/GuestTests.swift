import Glibc
import NetwatchTestSupport
import Testing

/// Tests that need a kernel of their own, because they use radios, modems, modules that are unloaded, and a machine
/// that sleeps.
///
/// `contrib/verify guest` boots a virtual machine, the guest, and runs these tests in it. `contrib/test` leaves them
/// out.
///
/// The guest has one kernel with one set of radios, so only one test runs at a time.
@Suite(.serialized, .enabled(if: Guest.isHere, "contrib/verify guest runs these")) enum GuestTests {}

/// The guest, a virtual machine in which `contrib/verify guest` runs tests.
enum Guest {
  static let isHere = unsafe getenv("NETWATCH_GUEST") != nil

  /// Runs a shell command outside of the namespaces of the tests. Throws a `TestFailure` if the command fails.
  static func run(_ command: String) throws {
    let result = try ChildProcess.run(["sh", "-c", command])
    guard result.ending == .exited(0) else { throw TestFailure("\(command): \(result.ending) \(result.error)") }
  }

  /// Returns whether the kernel has a module.
  static func hasModule(_ name: String) -> Bool { (try? run("modprobe --dry-run --quiet \(name)")) != nil }
}

extension ChildProcess {
  /// Waits until the process prints a line that contains the text. Throws a `TestFailure` if its output ends before.
  func wait(for text: String) throws {
    while let line = try nextLine() {
      if line.contains(text) { return }
    }
    throw TestFailure("process \(pid) has ended without \"\(text)\"")
  }
}
