import CLinux
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// Runs hooks for each line, one at a time. Of the lines that come while hooks run, only the newest is kept.
final class HookRunner {
  /// The time between SIGTERM and SIGKILL for a hook that takes too long.
  private static let grace = Duration.seconds(2)

  private struct Hook {
    var program = "/bin/sh"
    var arguments: [String] = []

    /// The path of a file for an error message, after a space; empty for the command of `--exec`.
    var name: String { arguments.isEmpty ? " '\(program)'" : "" }
  }

  private let settings: HookSettings
  private let folder: HookFolder?
  private let output: CInt
  private let loop: EventLoop
  private var writer = JSONLineWriter()
  /// The variables that the hooks of the last line got.
  private var told: HookVariables
  /// The line for which hooks run now; nil if none run.
  private var record: EventRecord?
  private var waiting: EventRecord?
  /// The hooks that still have to run for the line.
  private var hooks: ArraySlice<Hook> = []
  private var timer: LoopTimer?
  private var isFinishing = false
  /// How the last hook has ended; nil if it still runs or could not start.
  private(set) var ending: ProcessEnding?

  /// - Parameters:
  ///   - told: The variables that the hooks of an earlier line got. Default: all are empty.
  ///   - output: The descriptor for the standard output of hooks. Default: standard error, because the standard output of
  ///     netwatch is the stream.
  /// - Throws: A `PlainError` if the kernel is older than Linux 5.3.
  init(
    _ settings: HookSettings, after told: HookVariables = HookVariables(), output: CInt = STDERR_FILENO,
    on loop: EventLoop
  ) throws(PlainError) {
    guard ChildProcess.canTellEndings else {
      throw PlainError("\(settings.command == nil ? "a hook" : "--exec") needs Linux 5.3 or later")
    }
    self.settings = settings
    self.told = told
    self.output = output
    self.loop = loop
    folder = settings.folder.map { HookFolder($0) }
  }

  func run(_ record: EventRecord) {
    let command = settings.command.map { Hook(arguments: ["-c", $0]) }
    guard self.record == nil else {
      waiting = record
      return
    }
    begin(record, [command].compactMap { $0 } + (folder?.programs() ?? []).map { Hook(program: $0) })
  }

  /// Runs one file for a line.
  func run(_ program: String, for record: EventRecord) { begin(record, [Hook(program: program)]) }

  /// Waits until the hooks have run for the newest line.
  func finish() throws {
    guard record != nil else { return }
    isFinishing = true
    try loop.run()
  }

  private func begin(_ record: EventRecord, _ hooks: [Hook]) {
    self.record = record
    self.hooks = hooks[...]
    goOn()
  }

  /// Starts the next hook, or ends the run for the line.
  private func goOn() {
    guard let record else { return }
    while let hook = hooks.popFirst() {
      do {
        return try start(hook, record)
      } catch {
        StandardError.tell("cannot run the hook\(hook.name): \(error)\(advice(on: error))".harmless)
      }
    }
    told = HookVariables(record)
    self.record = nil
    guard let next = waiting else {
      if isFinishing { loop.stop() }
      return
    }
    waiting = nil
    run(next)
  }

  private func start(_ hook: Hook, _ record: EventRecord) throws {
    ending = nil
    let input = try lineAsFile(record)
    let process = try ChildProcess.spawn(
      hook.program, hook.arguments, environment: environment(record),
      descriptors: [(input.rawValue, STDIN_FILENO), (output, STDOUT_FILENO)])
    try ChildProcess.whenEnded(process, on: loop) { [unowned self] ending in
      timer = nil
      self.ending = ending
      goOn()
    }
    timer = LoopTimer(on: loop) { [unowned self] in end(process) }
    timer?.set(after: settings.timeout)
  }

  private func advice(on error: any Error) -> String {
    (error as? SystemError)?.code == ENOEXEC ? "; begin the file with a line such as #!/bin/sh" : ""
  }

  /// Returns a file in memory with the line, so that a hook that does not read it blocks nobody.
  private func lineAsFile(_ record: EventRecord) throws(SystemError) -> FileDescriptor {
    let file = try FileDescriptor.result(of: "memfd_create", unsafe memfd_create("line", UInt32(MFD_CLOEXEC)))
    writer.write(record)
    // RLIMIT_FSIZE is also for files in memory, and a part of a line would be no line.
    try writer.withLine { line throws(SystemError) in try FileDescriptor.writeAll(line, to: file.rawValue) }
    guard lseek(file.rawValue, 0, SEEK_SET) == 0 else { throw .last("lseek") }
    return file
  }

  private func environment(_ record: EventRecord) -> [String] {
    ChildProcess.environment.filter { !$0.hasPrefix("NETWATCH_") || $0.hasPrefix("NETWATCH_SOCKET=") }
      + HookVariables(record).entries(after: told)
  }

  private func end(_ process: pid_t) {
    kill(-process, SIGTERM)
    timer = LoopTimer(on: loop) { _ = kill(-process, SIGKILL) }
    timer?.set(after: Self.grace)
  }
}
