import CLinux
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// Runs a command for each line, one at a time. What happens while it runs collapses to the newest.
final class HookRunner {
  /// Between asking it to end and ending it.
  private static let grace = Duration.seconds(2)

  private let command: String
  private let timeout: Duration
  private let loop: EventLoop
  private var writer = JSONLineWriter()
  private var waiting: EventRecord?
  private var child: pid_t?
  private var timer: LoopTimer?
  private var isFinishing = false

  /// - Parameters:
  ///   - command: given to `sh -c` as it is; what the line says never becomes a part of it.
  ///   - timeout: after this it is ended.
  init(_ command: String, timeout: Duration, on loop: EventLoop) throws(PlainError) {
    guard ChildProcess.canTellEndings else { throw PlainError("--exec needs Linux 5.3 or later") }
    self.command = command
    self.timeout = timeout
    self.loop = loop
  }

  func run(_ record: EventRecord) {
    guard child == nil else {
      waiting = record
      return
    }
    do {
      try start(record)
    } catch {
      StandardError.tell("can not run the hook: \(error)")
    }
  }

  /// Waits until the newest line has had its run.
  func finish() throws {
    guard child != nil else { return }
    isFinishing = true
    try loop.run()
  }

  private func start(_ record: EventRecord) throws {
    let input = try lineAsFile(record)
    // Our standard output is the stream; a hook's words do not belong there.
    let process = try ChildProcess.spawn(
      "/bin/sh", ["-c", command], environment: environment(record),
      descriptors: [(input.rawValue, STDIN_FILENO), (STDERR_FILENO, STDOUT_FILENO)])
    try ChildProcess.whenEnded(process, on: loop) { [unowned self] _ in goOn() }
    child = process
    timer = LoopTimer(on: loop) { [unowned self] in end(process) }
    timer?.set(after: timeout)
  }

  /// In memory, so that a hook that does not read holds up nobody.
  private func lineAsFile(_ record: EventRecord) throws(SystemError) -> FileDescriptor {
    let file = try FileDescriptor.result(of: "memfd_create", unsafe memfd_create("line", UInt32(MFD_CLOEXEC)))
    writer.write(record)
    let count = writer.withLine { line in
      unsafe line.withUnsafeBytes { unsafe write(file.rawValue, $0.baseAddress, $0.count) }
    }
    guard count >= 0, lseek(file.rawValue, 0, SEEK_SET) == 0 else { throw .last("write") }
    return file
  }

  private func environment(_ record: EventRecord) -> [String] {
    let path = record.path
    let ours = [
      "NETWATCH_STATUS": path.status.rawValue, "NETWATCH_MEDIUM": path.medium?.rawValue ?? "",
      "NETWATCH_INTERFACE": path.interfaceName ?? "", "NETWATCH_EVENT": record.event.rawValue,
      "NETWATCH_REASON": record.reason, "NETWATCH_VISIBLE": record.activity.state.isVisible ? "true" : "false",
      "NETWATCH_INTERNET": record.internet?.rawValue ?? "",
    ]
    return ChildProcess.environment.filter { !$0.hasPrefix("NETWATCH_") || $0.hasPrefix("NETWATCH_SOCKET=") }
      + ours.map { "\($0.key)=\($0.value)" }
  }

  private func end(_ process: pid_t) {
    kill(-process, SIGTERM)
    timer = LoopTimer(on: loop) { _ = kill(-process, SIGKILL) }
    timer?.set(after: Self.grace)
  }

  private func goOn() {
    (timer, child) = (nil, nil)
    guard let next = waiting else {
      if isFinishing { loop.stop() }
      return
    }
    waiting = nil
    run(next)
    if child == nil, isFinishing { loop.stop() }
  }
}
