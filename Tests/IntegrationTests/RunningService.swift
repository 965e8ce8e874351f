import CLinux
import Foundation
import Glibc
import NetwatchTestSupport
import Testing

extension TemporaryFolder {
  /// Copies a program to this folder so that any user can run it, and returns the path. The build may be in a home
  /// folder that is closed to other users.
  func install(_ program: String) throws -> String {
    _ = unsafe chmod(path, 0o755)
    let copied = try ChildProcess.run(["install", "-m", "755", program, path])
    guard copied.ending == .exited(0) else { throw TestFailure("cannot copy \(program): \(copied.error)") }
    return file(String(program.split(separator: "/").last ?? ""))
  }

  /// Writes a shell script to this folder.
  func installScript(_ script: String, as name: String, mode: mode_t = 0o755) throws {
    try install(text: "#!/bin/sh\n\(script)\n", as: name, mode: mode)
  }

  /// Writes a file that can be run to this folder.
  ///
  /// Another process writes the file. The kernel does not run a program that is open for writing, and a child that the
  /// test starts meanwhile would inherit a descriptor of this process.
  func install(text: String, as name: String, mode: mode_t = 0o755) throws {
    let writer = try ChildProcess([
      "sh", "-c", "cat >\"$0\" && chmod \"$1\" \"$0\"", file(name), String(mode, radix: 8),
    ])
    writer.write(text)
    writer.closeInput()
    guard try writer.wait() == .exited(0) else { throw TestFailure("cannot write \(name): \(try writer.errorText())") }
  }
}

/// `netwatch serve` in a network namespace. Its socket is in a folder of the test.
final class RunningService {
  let folder: TemporaryFolder
  let socket: String
  let namespace: NetworkNamespace
  private(set) var process: ChildProcess
  private let arguments: [String]
  private let shell: String?

  /// - Parameters:
  ///   - arguments: The arguments that follow `serve`.
  ///   - namespace: The network namespace of the service. Default: a new one that is online.
  ///   - folder: The folder of the socket. Default: a new one.
  ///   - shell: Commands of a shell that then becomes the service, such as `ulimit -n 64`.
  init(
    _ arguments: String..., in namespace: NetworkNamespace? = nil, folder: TemporaryFolder? = nil,
    shell: String? = nil
  ) throws {
    self.folder = try folder ?? TemporaryFolder()
    self.namespace = try namespace ?? .online()
    socket = self.folder.file("s")
    self.arguments = arguments
    self.shell = shell
    process = try Self.start(self.namespace, socket, arguments, shell)
    try wait()
  }

  private static func start(
    _ namespace: NetworkNamespace, _ socket: String, _ arguments: [String], _ shell: String?
  ) throws -> ChildProcess {
    let prefix = shell.map { ["sh", "-c", "\($0); exec \"$@\"", "sh"] } ?? []
    return try ChildProcess(
      namespace.command(prefix + [Programs.netwatch, "serve"] + arguments), environment: ["NETWATCH_SOCKET=\(socket)"])
  }

  /// Waits until the service answers a client.
  private func wait() throws { _ = try client().next() }

  /// Starts the service again after it has ended.
  ///
  /// - Parameter waiting: Whether to wait until the service answers. Default: true.
  func restart(waiting: Bool = true) throws {
    process = try Self.start(namespace, socket, arguments, shell)
    if waiting { try wait() }
  }

  /// Kills the service with SIGKILL, and waits until its process has ended.
  func kill() throws {
    process.signal(SIGKILL)
    _ = try process.wait()
  }

  // MARK: Its users

  var environment: [String] { ["NETWATCH_SOCKET=\(socket)"] }

  func client() throws -> ServiceClient { try ServiceClient(socket) }

  /// Returns a client of a service that has room for one only. Waits until the service has seen that the former client
  /// is gone.
  func onlyClient() throws -> ServiceClient {
    var client: ServiceClient?
    func tryAgain() throws -> String {
      client = try self.client()
      return try client?.nextLine() ?? "no line"
    }
    try eventually(tryAgain()) { $0.contains("\"event\":") }
    return try #require(client)
  }

  func follow(_ arguments: String..., in other: NetworkNamespace? = nil) throws -> Follow {
    try Follow(
      ChildProcess(
        (other ?? namespace).command([Programs.netwatch, "--follow", "--json"] + arguments), environment: environment))
  }

  /// Waits until the service answers a new client, and returns the number of requests in flight.
  func inFlight() throws -> Int? { try client().next().inFlight }

  // MARK: What it costs

  var descriptors: Int { process.descriptorCount }

  /// Asks the service until it has seen that clients are gone and has at most `count` descriptors open, and returns
  /// their number.
  func descriptors(downTo count: Int) throws -> Int {
    func ask() throws -> Int {
      _ = try client().next()
      return descriptors
    }
    return try eventually(ask()) { $0 <= count }
  }
}

extension ChildProcess {
  var descriptorCount: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count) ?? -1 }

  /// Returns the number in a line of /proc/PID/status.
  func status(_ key: String) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("\(key):") }
    guard let number = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first,
      let value = Int(number)
    else { throw TestFailure("no \(key) of process \(pid)") }
    return value
  }

  /// Returns the resident memory of the process, in bytes.
  func residentMemory() throws -> Int { try status("VmRSS") * 1_024 }

  /// Returns the number of context switches: how often the main thread has slept or was interrupted.
  func contextSwitches() throws -> Int { try status("voluntary_ctxt_switches") + status("nonvoluntary_ctxt_switches") }

  /// Whether the main thread waits for an event. A program that polls in a loop without a pause never does.
  var isAsleep: Bool {
    let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    return text.split(separator: ")").last?.hasPrefix(" S") == true
  }

  /// Returns the number of threads with this name that wait for an event.
  func sleepers(named name: String) -> Int {
    let folder = "/proc/\(pid)/task"
    func text(_ thread: String, _ file: String) -> String {
      (try? String(contentsOfFile: "\(folder)/\(thread)/\(file)", encoding: .utf8)) ?? ""
    }
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return threads.count {
      text($0, "comm") == name + "\n" && text($0, "stat").split(separator: ")").last?.hasPrefix(" S") == true
    }
  }

  /// The limit in seconds from which on a timer does not count. A timer that only reports that the system clock was set
  /// has its expiration at the end of time.
  private static let year = 366.0 * 86_400

  /// The seconds until the first timerfd of the process expires; nil if none is set.
  var timeToNextTimer: Double? {
    let folder = "/proc/\(pid)/fdinfo"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.compactMap { name in
      let text = (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? ""
      guard let time = text.firstMatch(of: /it_value: \(([0-9]+), ([0-9]+)\)/), let seconds = Double(time.1),
        let nanoseconds = Double(time.2), seconds + nanoseconds > 0, seconds < Self.year
      else { return nil }
      return seconds + nanoseconds / 1e9
    }.min()
  }

  /// Waits until only an event from outside can wake the process: it sleeps, and none of its timers is set.
  func waitUntilIdle(at place: SourceLocation = #_sourceLocation) throws {
    try waitUntilAsleep(forSeconds: .infinity, at: place)
  }

  /// Waits until the process sleeps, and none of its timers wakes it for this many seconds.
  func waitUntilAsleep(forSeconds seconds: Double, at place: SourceLocation = #_sourceLocation) throws {
    // Between a look at the timers and one at its state, the process may wake and set a timer. It has not done so if
    // the number of context switches stays the same. A timer that expires is no longer shown as set a moment before it
    // wakes the process, so two looks in a row must find the same number.
    var before: Int?
    func state() throws -> (timer: Double?, isAsleep: Bool, hasSlept: Bool) {
      let switches = try contextSwitches()
      let (timer, isAsleep) = (timeToNextTimer, isAsleep)
      let hasSlept = try before == switches && contextSwitches() == switches
      before = switches
      return (timer, isAsleep, hasSlept)
    }
    try eventually(state(), at: place) { $0.isAsleep && $0.hasSlept && ($0.timer.map { $0 > seconds } ?? true) }
  }
}

/// A client that is connected to a Unix socket.
final class ServiceClient {
  private let reader: LineReader
  private var descriptor: CInt

  /// Connects to the socket at `path`. Waits until a service listens there.
  init(_ path: String, at place: SourceLocation = #_sourceLocation) throws {
    var (descriptor, code) = Self.connect(path)
    if descriptor == nil {
      func tryAgain() -> String {
        (descriptor, code) = Self.connect(path)
        return "errno \(code) of connect to \(path)"
      }
      try eventually(tryAgain(), at: place) { _ in descriptor != nil }
    }
    self.descriptor = try #require(descriptor)
    reader = LineReader(self.descriptor)
  }

  private static func connect(_ path: String) -> (descriptor: CInt?, code: CInt) {
    let descriptor = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return (nil, errno) }
    if unsafe UnixAddress.with(path, { unsafe Glibc.connect(descriptor, $0, $1) }) == 0 { return (descriptor, 0) }
    let code = errno
    Glibc.close(descriptor)
    return (nil, code)
  }

  func close() {
    reader.close()
    descriptor = -1
  }

  /// Sends bytes, and returns whether all of them were sent. They are not if the other side has closed the connection.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.send(descriptor, $0.baseAddress.map { unsafe $0 + sent }, bytes.count - sent, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array((text + "\n").utf8)) }

  func endInput() { shutdown(descriptor, CInt(SHUT_WR)) }

  /// Waits for the next line of any kind, and returns it; nil at the end of the connection. Fails after 20 seconds.
  func nextLine(at place: SourceLocation = #_sourceLocation) throws -> String? {
    try reader.next(within: 20, at: place)
  }

  /// Waits for the next line, and returns it as an event. Fails if the connection ends or the line is no JSON object.
  func next() throws -> Line {
    guard let text = try nextLine() else { throw TestFailure("the connection has ended") }
    return try Line(text)
  }

  /// Skips events, and returns the next line that is no event.
  func answer() throws -> String {
    while let line = try nextLine() { if !line.contains("\"event\":") { return line } }
    throw TestFailure("the connection has ended")
  }

  /// Skips events, and returns the message of the error that comes next. Fails if another answer comes.
  func error() throws -> String {
    let answer = try answer()
    let prefix = "{\"v\":1,\"error\":\""
    guard answer.hasPrefix(prefix), answer.hasSuffix("\"}") else { throw TestFailure("no error: \(answer)") }
    return String(answer.dropFirst(prefix.count).dropLast(2))
  }

  /// Returns all lines until the end of the connection.
  func rest() throws -> [String] {
    var lines: [String] = []
    while let line = try nextLine() { lines.append(line) }
    return lines
  }

  /// Sends a ping and waits for its answer. By then the service has handled everything that was sent before.
  func ping() throws {
    send("{\"ping\":1}")
    let answer = try answer()
    guard answer == "{\"v\":1,\"pong\":1}" else { throw TestFailure("no pong: \(answer)") }
  }
}

/// A Unix socket at which a test listens, as a service manager does.
final class ListeningPath {
  let descriptor: CInt
  private let path: String
  /// The datagram that was received last.
  private var last: String?

  /// - Parameters:
  ///   - path: The path of the socket. A leading `@` stands for an abstract name.
  ///   - datagrams: Whether the socket receives datagrams. Otherwise it accepts streams.
  init(_ path: String, datagrams: Bool = false) throws {
    self.path = path
    let type = datagrams ? SOCK_DGRAM : SOCK_STREAM
    descriptor = Glibc.socket(AF_UNIX, CInt(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard unsafe UnixAddress.with(path, { unsafe bind(descriptor, $0, $1) }) == 0 else {
      throw TestFailure("bind \(path): \(errno)")
    }
    if !datagrams { listen(descriptor, 64) }
  }

  deinit { close(descriptor) }

  /// Waits for the next datagram, and returns its text.
  func next(within seconds: Double = 20) throws -> String {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&waiting, 1, Deadline(seconds).milliseconds) > 0 else {
      throw TestFailure("no datagram in \(seconds * patience) s; the last one was \(last?.debugDescription ?? "none")")
    }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
    let text = String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    last = text
    return text
  }

  /// Whether the queue of the socket is full, so that a sender of a datagram would have to wait.
  var isFull: Bool {
    let sender = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(sender) }
    let flags = CInt(MSG_DONTWAIT | MSG_NOSIGNAL)
    return unsafe UnixAddress.with(path) { unsafe sendto(sender, nil, 0, flags, $0, $1) } < 0 && errno == EAGAIN
  }

  /// Skips the service's signs of life (`WATCHDOG=1`), and returns the next other datagram.
  func nextState() throws -> String {
    while true {
      let text = try next()
      if text != "WATCHDOG=1" { return text }
    }
  }
}

enum UnixAddress {
  static func with<Result>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8.prefix(MemoryLayout.size(ofValue: address.sun_path) - 1))
    let isAbstract = bytes.first == UInt8(ascii: "@")
    if isAbstract { bytes[0] = 0 }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let length = MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1)
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, socklen_t(length)) }
    }
  }
}
