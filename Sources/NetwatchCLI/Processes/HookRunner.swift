import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchStream

/// Runs hooks for each line, one at a time. Of the lines that come while hooks run, only the newest is kept.
final class HookRunner {
  /// The time between SIGTERM and SIGKILL for a hook that takes too long, or still runs when netwatch ends.
  static let grace = Duration.seconds(2)
  /// The time for which the same failure of a hook is not reported again. A hook may fail for each line, and lines may come many
  /// times in a second.
  private static let silence = Duration.seconds(3_600)

  private struct Hook {
    let program: String
    let arguments: [String]
    /// The name for a sentence.
    let name: String

    init(_ file: HookFile) { (program, arguments, name) = (file.program, [], "the hook '\(file.name)'") }

    /// Creates the hook of `--exec`.
    init(command: String) { (program, arguments, name) = ("/bin/sh", ["-c", command], "the command of --exec") }
  }

  private let settings: HookSettings
  private let folder: HookFolder?
  private let output: CInt
  private let loop: EventLoop
  private var writer = JSONLineWriter()
  /// The variables that the hooks of the last line got.
  private var lastVariables: HookVariables
  /// The line for which hooks run now; nil if none run.
  private var record: EventRecord?
  private var waiting: EventRecord?
  /// The hooks that still have to run for the line.
  private var hooks: ArraySlice<Hook> = []
  private var child: ChildGroup?
  private var timer: LoopTimer?
  private var isLate = false
  /// Ends the hook that runs when netwatch ends. Nil before the first hook, and if there is no shell.
  private var hookGuard: HookGuard?
  private let reportsFailures: Bool
  /// The failures that were reported within ``silence``, and the time of each on the monotonic clock.
  private var reported: [String: Duration] = [:]
  private var isFinishing = false
  /// How the last hook has ended; nil if it still runs or could not start.
  private(set) var ending: ProcessEnding?

  /// - Parameters:
  ///   - lastVariables: The variables that the hooks of an earlier line got. Default: all are empty.
  ///   - output: The descriptor for the standard output of hooks. Default: standard error, because the standard output of
  ///     netwatch is the stream.
  ///   - reportsFailures: Whether standard error says that a hook has failed. Default: true.
  /// - Throws: A `PlainError` if the kernel is older than Linux 5.3.
  init(
    _ settings: HookSettings, after lastVariables: HookVariables = HookVariables(), output: CInt = STDERR_FILENO,
    reportsFailures: Bool = true, on loop: EventLoop
  ) throws(PlainError) {
    guard ChildProcess.canTellEndings else {
      throw PlainError("\(settings.command == nil ? "a hook" : "--exec") needs Linux 5.3 or later")
    }
    self.settings = settings
    self.lastVariables = lastVariables
    self.output = output
    self.reportsFailures = reportsFailures
    self.loop = loop
    folder = settings.folder.map { HookFolder($0) }
  }

  func run(_ record: EventRecord) {
    guard self.record == nil else {
      waiting = record
      return
    }
    let command = settings.command.map { [Hook(command: $0)] } ?? []
    begin(record, command + (folder?.files() ?? []).map { Hook($0) })
  }

  /// Runs one file for a line.
  func run(_ file: HookFile, for record: EventRecord) { begin(record, [Hook(file)]) }

  /// Waits until the hooks have run for the newest line.
  func finish() throws {
    isFinishing = true
    // The loop also stops when the reader of the lines goes.
    while record != nil { try loop.run() }
  }

  private func begin(_ record: EventRecord, _ hooks: [Hook]) {
    self.record = record
    self.hooks = hooks[...]
    runNext()
  }

  /// Starts the next hook, or ends the run for the line.
  private func runNext() {
    guard let record else { return }
    while let hook = hooks.popFirst() {
      do {
        return try start(hook, record)
      } catch {
        hookGuard?.release()
        StandardError.warn("cannot run \(hook.name): \(error)\(advice(on: error))".sanitizedForTerminal)
      }
    }
    lastVariables = HookVariables(record, about: settings.target)
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
    let environment = environment(record)
    func spawn() throws(SystemError) -> pid_t {
      try ChildProcess.spawn(
        hook.program, hook.arguments, environment: environment,
        descriptors: [(input.rawValue, STDIN_FILENO), (output, STDOUT_FILENO)])
    }
    // If there are no descriptors for the shell at this moment, there may be for the next hook.
    if hookGuard == nil { hookGuard = try? HookGuard() }
    let process = if let hookGuard { try hookGuard.start(spawn) } else { try spawn() }
    isLate = false
    child = try ChildGroup(process, on: loop) { [unowned self] in ended($0, hook) }
    timer = LoopTimer(on: loop) { [unowned self] in
      isLate = true
      child?.end(within: Self.grace)
    }
    timer?.set(after: settings.timeout)
  }

  private func ended(_ ending: ProcessEnding, _ hook: Hook) {
    hookGuard?.release()
    (child, timer) = (nil, nil)
    self.ending = ending
    if ending != .exited(0) || isLate { report(ending, hook) }
    runNext()
  }

  private func report(_ ending: ProcessEnding, _ hook: Hook) {
    guard reportsFailures else { return }
    let reason = isLate ? "took longer than --exec-timeout permits and was ended" : "has failed"
    let sentence = "\(hook.name) \(reason): \(ending)".sanitizedForTerminal
    let now = loop.now
    reported = reported.filter { now - $0.value < Self.silence }
    guard reported[sentence] == nil else { return }
    reported[sentence] = now
    StandardError.warn(sentence)
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
      + HookVariables(record, about: settings.target).entries(after: lastVariables)
  }
}

/// The settings for hooks, which run for each line.
struct HookSettings {
  /// The shell command of `--exec`; nil for none. `sh -c` gets it unchanged: no part of a line is ever inserted.
  var command: String?
  /// The folder of `--hooks`; nil for none.
  var folder: String?
  /// The time after which the command or a file of the folder is ended. Default: 90 seconds.
  var timeout = Duration.seconds(90)
  /// The target that the paths of records lead to, which sentences name.
  var target = NetworkTarget.internet

  /// Whether there is a hook.
  var areWanted: Bool { command != nil || folder != nil }
}
