import CLinux
import Glibc
import NetwatchTestSupport

/// A program that a test starts, with pipes to talk to it.
final class ChildProcess {
  enum Output {
    case pipe, descriptor(CInt)
    /// The path of a terminal, which becomes that of the program's own session, and also standard input and error.
    case terminal(String)
  }
  enum Ending: Hashable { case exited(CInt), signalled(CInt) }

  /// POSIX_SPAWN_SETSID, which glibc hides behind _GNU_SOURCE.
  private static let newSession: CInt = 0x80

  let pid: pid_t
  private var input: CInt
  private var outputReader: LineReader
  private var errorReader: LineReader
  private var ending: Ending?

  /// - Parameters:
  ///   - standardOutput: a pipe that `nextLine` reads, or somebody else's descriptor.
  ///   - environment: added to the test's own.
  ///   - descriptors: become 3, 4 and so on, as systemd hands over sockets.
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
    // Threads of Dispatch block signals; a child would inherit that.
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    // A shell ignores these signals for what it starts in the background, such as a run of the tests.
    var interrupts = sigset_t()
    for signal in [SIGINT, SIGQUIT] { unsafe sigaddset(&interrupts, signal) }
    unsafe posix_spawnattr_setsigdefault(&attributes, &interrupts)
    let session = if case .terminal = standardOutput { Self.newSession } else { CInt(0) }
    let flags = CInt(POSIX_SPAWN_SETSIGMASK) | CInt(POSIX_SPAWN_SETSIGDEF) | session
    unsafe posix_spawnattr_setflags(&attributes, Int16(flags))

    var pid: pid_t = 0
    let code = unsafe posix_spawnp(&pid, arguments[0], &actions, &attributes, &argv, &envp)
    for descriptor in [inputRead, outputWrite, errorWrite] { close(descriptor) }
    guard code == 0 else { throw TestFailure("cannot start \(arguments[0]): \(code)") }
    self.pid = pid
    input = inputWrite
    outputReader = LineReader(outputRead)
    errorReader = LineReader(errorRead)
  }

  deinit {
    closeInput()
    if ending == nil {
      kill(pid, SIGKILL)
      var status: CInt = 0
      unsafe waitpid(pid, &status, 0)
    }
  }

  /// A service of this machine is nothing to a test: no program finds one unless the test says where.
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

  // MARK: Talking

  func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = unsafe Glibc.write(input, bytes.baseAddress, bytes.count) }
  }

  func closeInput() {
    if input >= 0 { close(input) }
    input = -1
  }

  func closeOutput() { outputReader.close() }

  /// The next line of its output; nil at its end. Fails when none comes in time.
  func nextLine(within seconds: Double = 20) throws -> String? { try outputReader.next(within: seconds) }

  /// The same of stderr.
  func nextErrorLine(within seconds: Double = 20) throws -> String? { try errorReader.next(within: seconds) }

  /// Whether a line comes within a while in which none should.
  func hasLine(within seconds: Double) throws -> Bool { try outputReader.poll(within: seconds) }
  func hasErrorLine(within seconds: Double) throws -> Bool { try errorReader.poll(within: seconds) }

  /// Everything that it has written to stderr, once it has ended.
  func errorText() throws -> String {
    var lines: [String] = []
    while let line = try errorReader.next(within: 20) { lines.append(line) }
    return lines.joined(separator: "\n")
  }

  // MARK: Ending

  func signal(_ number: CInt) { kill(pid, number) }

  /// Waits for its end.
  func wait(within seconds: Double = 20) throws -> Ending {
    if let ending { return ending }
    let deadline = Deadline(seconds)
    while true {
      var status: CInt = 0
      if unsafe waitpid(pid, &status, WNOHANG) == pid {
        let number = status & 0x7f
        let result: Ending = number == 0 ? .exited(status >> 8 & 0xff) : .signalled(number)
        ending = result
        return result
      }
      guard !deadline.isOver else { throw TestFailure("process \(pid) did not end in \(seconds) s") }
      usleep(2_000)  // waitpid has no deadline of its own
    }
  }

  /// Runs to the end.
  static func run(_ arguments: [String], environment: [String] = []) throws -> (
    ending: Ending, output: [String], error: String
  ) {
    let child = try ChildProcess(arguments, environment: environment)
    child.closeInput()
    var lines: [String] = []
    while let line = try child.nextLine(within: 60) { lines.append(line) }
    return (try child.wait(), lines, try child.errorText())
  }
}

/// Lines of a pipe, each with a deadline.
final class LineReader {
  private var descriptor: CInt
  private var buffer: [UInt8] = []
  private var isOver = false

  init(_ descriptor: CInt) { self.descriptor = descriptor }

  deinit { close() }

  func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  func next(within seconds: Double) throws -> String? {
    let deadline = Deadline(seconds)
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffer.removeSubrange(...end) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      if isOver { return nil }
      guard try fill(until: deadline) else { throw TestFailure("no line in \(seconds) s") }
    }
  }

  func poll(within seconds: Double) throws -> Bool {
    let deadline = Deadline(seconds)
    while !buffer.contains(UInt8(ascii: "\n")) {
      if isOver { return false }
      guard try fill(until: deadline) else { return false }
    }
    return true
  }

  private func fill(until deadline: Deadline) throws -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard unsafe Glibc.poll(&waiting, 1, deadline.milliseconds) > 0 else { return false }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    // A socket whose peer has left something unread ends so.
    guard count >= 0 || errno == ECONNRESET else { throw TestFailure("read: \(errno)") }
    isOver = count <= 0
    buffer += bytes[..<max(0, count)]
    return true
  }
}
