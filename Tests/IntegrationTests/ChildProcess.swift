import CLinux
import Glibc
import NetwatchTestSupport
import Testing

/// A program that a test starts, with pipes to its standard input, output and error. The program is killed when the
/// object is released.
final class ChildProcess {
  enum Output {
    case pipe, descriptor(CInt)
    /// The path of a terminal. The program gets a session of its own with this terminal, which is also its standard
    /// input, output and error.
    case terminal(String)
  }
  enum Ending: Hashable { case exited(CInt), signalled(CInt) }

  /// The value of `POSIX_SPAWN_SETSID`, which glibc declares only with `_GNU_SOURCE`.
  private static let newSession: CInt = 0x80

  let pid: pid_t
  private var input: CInt
  private let arguments: [String]
  private let output: ChildOutput
  private let errors: ChildOutput
  private var ending: Ending?

  /// - Parameters:
  ///   - arguments: The program and its arguments.
  ///   - standardOutput: A pipe that `nextLine` reads, a descriptor of the caller, or a terminal. Default: a pipe.
  ///   - environment: Variables as `NAME=value` that are added to those of the test, or replace them.
  ///   - descriptors: The descriptors that become 3, 4 and so on in the program, as systemd passes sockets.
  init(
    _ arguments: [String], standardOutput: Output = .pipe, environment: [String] = [], descriptors: [CInt] = []
  ) throws {
    let (inputRead, inputWrite) = try Self.makePipe()
    let (outputRead, outputWrite) = try Self.makePipe()
    let (errorRead, errorWrite) = try Self.makePipe()
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, inputRead, STDIN_FILENO)
    switch standardOutput {
    case .pipe: unsafe posix_spawn_file_actions_adddup2(&actions, outputWrite, STDOUT_FILENO)
    case .descriptor(let descriptor): unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, STDOUT_FILENO)
    case .terminal(let path):
      unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, path, O_RDWR, 0)
      unsafe posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO)
    }
    let error = if case .terminal = standardOutput { STDIN_FILENO } else { errorWrite }
    unsafe posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO)
    for (place, descriptor) in descriptors.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, CInt(3 + place))
    }

    var argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
    let names = environment.map { $0.prefix { $0 != "=" } + "=" }
    let inherited = Self.inherited.filter { entry in !names.contains { entry.hasPrefix($0) } }
    var envp = unsafe (inherited + environment).map { unsafe strdup($0) } + [nil]
    defer {
      unsafe argv.forEach { unsafe free($0) }
      unsafe envp.forEach { unsafe free($0) }
    }
    // Threads of Dispatch block signals, and a child inherits the blocked signals of the thread that starts it.
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    // A shell starts background jobs with some of these signals ignored, and so does nohup. If the tests run in such a
    // job, a child would inherit that.
    var interrupts = sigset_t()
    for signal in [SIGINT, SIGQUIT, SIGHUP] { unsafe sigaddset(&interrupts, signal) }
    unsafe posix_spawnattr_setsigdefault(&attributes, &interrupts)
    let session = if case .terminal = standardOutput { Self.newSession } else { CInt(0) }
    let flags = CInt(POSIX_SPAWN_SETSIGMASK) | CInt(POSIX_SPAWN_SETSIGDEF) | session
    unsafe posix_spawnattr_setflags(&attributes, Int16(flags))

    var pid: pid_t = 0
    let code = unsafe posix_spawnp(&pid, arguments[0], &actions, &attributes, &argv, &envp)
    for descriptor in [inputRead, outputWrite, errorWrite] { close(descriptor) }
    guard code == 0 else {
      for descriptor in [inputWrite, outputRead, errorRead] { close(descriptor) }
      throw TestFailure("cannot start \(arguments[0]): \(code)")
    }
    self.pid = pid
    input = inputWrite
    self.arguments = arguments
    output = try ChildOutput(outputRead)
    errors = try ChildOutput(errorRead)
  }

  deinit {
    closeInput()
    if ending == nil {
      kill(pid, SIGKILL)
      var status: CInt = 0
      unsafe waitpid(pid, &status, 0)
    }
  }

  /// The environment of the test without the variables that lead to a service of this machine. A program finds a
  /// service only if the test says where it is.
  private static let inherited: [String] = {
    var result = ["NETWATCH_SOCKET=/nonexistent/netwatch.sock"]
    var entry = unsafe environ
    while let text = unsafe entry.pointee {
      let variable = unsafe String(cString: text)
      let isOurs = ["NETWATCH_SOCKET=", "XDG_RUNTIME_DIR=", "NOTIFY_SOCKET=", "LISTEN_", "WATCHDOG_"]
        .contains { variable.hasPrefix($0) }
      if !isOurs { result.append(variable) }
      unsafe entry += 1
    }
    return result
  }()

  private static func makePipe() throws -> (read: CInt, write: CInt) {
    var ends: [CInt] = [-1, -1]
    guard unsafe pipe2(&ends, CInt(O_CLOEXEC)) == 0 else { throw TestFailure("pipe2: \(errno)") }
    return (ends[0], ends[1])
  }

  // MARK: Input and output

  func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = unsafe Glibc.write(input, bytes.baseAddress, bytes.count) }
  }

  func closeInput() {
    if input >= 0 { close(input) }
    input = -1
  }

  func closeOutput() { output.close() }

  /// Waits for the next line of standard output and returns it; nil at the end of the output. Throws a `TestFailure` if
  /// no line comes within `seconds` times `patience`.
  func nextLine(within seconds: Double = 20, at place: SourceLocation = #_sourceLocation) throws -> String? {
    try output.next(until: Deadline(seconds)) { failure("has written no line in \(seconds * patience) s", place) }
  }

  /// Waits for the next line of standard error and returns it; nil at the end. Throws a `TestFailure` if no line comes
  /// within `seconds` times `patience`.
  func nextErrorLine(within seconds: Double = 20, at place: SourceLocation = #_sourceLocation) throws -> String? {
    try errors.next(until: Deadline(seconds)) {
      failure("has written no line to standard error in \(seconds * patience) s", place)
    }
  }

  /// Whether a line of standard output has come that ``nextLine(within:at:)`` has not taken.
  var hasLine: Bool { output.hasLine }
  /// Whether a line of standard error has come that ``nextErrorLine(within:at:)`` has not taken.
  var hasErrorLine: Bool { errors.hasLine }

  /// Waits until standard error ends, and returns all lines of it that were not taken before.
  func errorText(within seconds: Double = 20, at place: SourceLocation = #_sourceLocation) throws -> String {
    let deadline = Deadline(seconds)
    var lines: [String] = []
    while let line = try errors.next(
      until: deadline,
      orThrow: {
        failure("has not closed its standard error in \(seconds * patience) s, and has written \(lines)", place)
      })
    { lines.append(line) }
    return lines.joined(separator: "\n")
  }

  /// Returns a failure that tells a person why a wait has failed: the place of the wait, the command, whether it still
  /// runs, and its output that was not read.
  private func failure(_ what: String, _ place: SourceLocation) -> TestFailure {
    let end = (try? endIfOver()).flatMap { $0 }.map { "It has ended: \($0)" } ?? "It runs still, as process \(pid)"
    var text = "\(place.fileID):\(place.line): \(arguments.joined(separator: " ")) \(what). \(end)."
    for (name, output) in [("Output", output), ("Standard error", errors)] {
      if !output.rest.isEmpty { text += " \(name) that was not read: \(output.rest.debugDescription)." }
    }
    return TestFailure(text)
  }

  // MARK: Ending

  func signal(_ number: CInt) { kill(pid, number) }

  /// Waits until the process has ended and returns how it ended. Throws a `TestFailure` if it runs for more than
  /// `seconds` times `patience`.
  func wait(within seconds: Double = 20, at place: SourceLocation = #_sourceLocation) throws -> Ending {
    if let ending { return ending }
    let descriptor = netwatch_pidfd_open(pid)
    guard descriptor >= 0 else { throw TestFailure("pidfd_open: \(errno)") }
    defer { close(descriptor) }
    let deadline = Deadline(seconds)
    while true {
      if let ending = try endIfOver() { return ending }
      guard !deadline.isOver else { throw failure("has not ended in \(seconds * patience) s", place) }
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      _ = unsafe poll(&waiting, 1, deadline.milliseconds)
    }
  }

  /// Returns how the process has ended, or nil if it still runs.
  func endIfOver() throws -> Ending? {
    if let ending { return ending }
    var status: CInt = 0
    let result = unsafe waitpid(pid, &status, WNOHANG)
    guard result >= 0 else { throw TestFailure("waitpid: \(errno)") }
    guard result == pid else { return nil }
    let number = status & 0x7f
    ending = number == 0 ? .exited(status >> 8 & 0xff) : .signalled(number)
    return ending
  }

  /// Runs a program without input until it ends, and returns its output. Throws a `TestFailure` if that takes more than
  /// 60 seconds times `patience`.
  static func run(
    _ arguments: [String], environment: [String] = [], at place: SourceLocation = #_sourceLocation
  ) throws -> (ending: Ending, output: [String], error: String) {
    let child = try ChildProcess(arguments, environment: environment)
    child.closeInput()
    let deadline = Deadline(60)
    var (lines, errors): ([String], [String]) = ([], [])
    func failure() -> TestFailure {
      child.failure("has not ended in \(60 * patience) s. It has written \(lines), and as errors \(errors)", place)
    }
    while let line = try child.output.next(until: deadline, orThrow: failure) { lines.append(line) }
    // Wait for the end of the program before reading its standard error to the end. A process that the program has left
    // behind may hold the same standard error open until the program has ended.
    let ending = try child.wait(within: max(1, Double(deadline.milliseconds) / 1_000 / patience), at: place)
    while let line = try child.errors.next(until: deadline, orThrow: failure) { errors.append(line) }
    return (ending, lines, errors.joined(separator: "\n"))
  }
}

/// A reader of lines from a pipe or a socket of the test. It reads only when the test asks for a line, and closes the
/// descriptor when it is released.
final class LineReader {
  private var descriptor: CInt
  private var buffer: [UInt8] = []
  private var isOver = false
  /// The line that was taken last.
  private var last: String?

  init(_ descriptor: CInt) { self.descriptor = descriptor }

  deinit { close() }

  func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  /// Waits for the next line and returns it; nil at the end. Throws a `TestFailure` if no line comes within `seconds`
  /// times `patience`.
  func next(within seconds: Double, at place: SourceLocation = #_sourceLocation) throws -> String? {
    let deadline = Deadline(seconds)
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        last = String(decoding: buffer[..<end], as: UTF8.self)
        buffer.removeSubrange(...end)
        return last
      }
      if isOver { return nil }
      guard try fill(until: deadline) else {
        throw TestFailure(
          "\(place.fileID):\(place.line): no line has come in \(seconds * patience) s; the last one was "
            + "\(last?.debugDescription ?? "none"), and since then came \(String(decoding: buffer, as: UTF8.self).debugDescription)"
        )
      }
    }
  }

  private func fill(until deadline: Deadline) throws -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard unsafe Glibc.poll(&waiting, 1, deadline.milliseconds) > 0 else { return false }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    // A `read` from a socket fails with ECONNRESET if the peer has closed it without reading everything.
    guard count >= 0 || errno == ECONNRESET else { throw TestFailure("read: \(errno)") }
    isOver = count <= 0
    buffer += bytes[..<max(0, count)]
    return true
  }
}
