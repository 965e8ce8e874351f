import CLinux
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// Runs hooks for each line, one at a time. What happens while they run collapses to the newest.
final class HookRunner {
  /// Between asking it to end and ending it.
  private static let grace = Duration.seconds(2)

  private struct Hook {
    var program = "/bin/sh"
    var arguments: [String] = []

    /// For a sentence.
    var name: String { arguments.isEmpty ? " '\(program)'" : "" }
  }

  private let settings: HookSettings
  private let folder: HookFolder?
  private let output: CInt
  private let loop: EventLoop
  private var writer = JSONLineWriter()
  /// What the hooks of the last line were told.
  private var told: HookVariables
  /// The line that hooks run for now; nil if none run.
  private var record: EventRecord?
  private var waiting: EventRecord?
  /// What is still to run for the line.
  private var hooks: ArraySlice<Hook> = []
  private var timer: LoopTimer?
  private var isFinishing = false
  /// How the last hook has ended; nil if it did not begin.
  private(set) var ending: ProcessEnding?

  /// - Parameters:
  ///   - told: what the hooks of an earlier line were told.
  ///   - output: the descriptor that takes the standard output of hooks. Default: that of our standard error, because our
  ///     standard output is the stream.
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

  /// Waits until the newest line has had its run.
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
    ChildProcess.environment.filter { !$0.hasPrefix("NETWATCH_") || $0.hasPrefix("NETWATCH_SOCKET=") }
      + HookVariables(record).entries(after: told)
  }

  private func end(_ process: pid_t) {
    kill(-process, SIGTERM)
    timer = LoopTimer(on: loop) { _ = kill(-process, SIGKILL) }
    timer?.set(after: Self.grace)
  }
}
