import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchOptions

/// Runs `netwatch --follow --json`, again if it ends or hangs, and passes on its lines. Belongs to the thread of its loop.
final class Follower {
  /// The longest line. A line of the stream is always shorter.
  private static let longestLine = 65_536
  /// The time that the program has to end.
  private static let grace = Duration.seconds(1)
  private let program: String
  private let options: [String]
  /// The time within which the program gives a sign of life, as a service gives one to systemd.
  private let patience: Duration
  private let loop: EventLoop
  private let lines: ([[UInt8]]) -> Void
  private let failed: (any Error) -> Void
  private var pipe: Pipe?
  private var registration: EventLoop.Registration?
  private var child: ChildGroup?
  /// The program's signs of life; nil if there is no socket for them.
  private var signs: SignSocket?
  private var signTimer: LoopTimer?
  private var buffer: [UInt8] = []
  private var skipsLine = false
  private var backoff = Backoff()
  private var timer: LoopTimer?
  private var isStopped = false
  private var started = Duration.zero
  /// A program that runs longer has not failed at its start.
  private static let longEnough = Duration.seconds(30)

  /// - Parameters:
  ///   - options: The options beside `--follow --json`.
  ///   - patience: The time without a sign of life after which it is ended, and started again.
  ///   - lines: The closure that gets the lines that have come.
  ///   - failed: The closure that is told why the program cannot run at all.
  /// - Throws: A `PlainError` if netwatch is not there, or a `SystemError`.
  init(
    _ options: [String], patience: Duration, on loop: EventLoop, lines: @escaping ([[UInt8]]) -> Void,
    failed: @escaping (any Error) -> Void
  ) throws {
    (self.options, self.patience, self.loop, self.lines, self.failed) = (options, patience, loop, lines, failed)
    program = try Self.find()
    timer = LoopTimer(on: loop) { [unowned self] in
      do { try start() } catch { again() }
    }
    signTimer = LoopTimer(on: loop) { [unowned self] in
      StandardError.warn("netwatch --follow gives no sign of life; starting it again")
      child?.end(within: Self.grace)
    }
    signs = try? SignSocket(on: loop) { [unowned self] in if child != nil { signTimer?.set(after: patience) } }
    try start()
  }

  private static func find() throws(PlainError) -> String {
    let own = UserFolder.ofThisProgram.map { [$0, "\($0)/../../bin"] } ?? []
    let places = (own + UserFolder.programs + ["/usr/bin"]).map { "\($0)/netwatch" }
    guard let place = places.first(where: { (path: String) in unsafe access(path, X_OK) == 0 }) else {
      throw PlainError("netwatch is not here; install its package, or put it beside netwatch-mqtt")
    }
    return place
  }

  private func start() throws(SystemError) {
    let pipe = try Pipe()
    try pipe.readWithoutWaiting()
    let variables = signs.map { ["NOTIFY_SOCKET=\($0.name)", "WATCHDOG_USEC=\(patience.components.seconds)000000"] }
    let process = try ChildProcess.spawn(
      program, ["--follow", "--json"] + options, environment: ChildProcess.environment + (variables ?? []),
      descriptors: [(pipe.write, STDOUT_FILENO)], closesOthers: true)
    pipe.closeWrite()
    child = try ChildGroup(process, on: loop) { [unowned self] in childEnded($0) }
    registration = try loop.watch(pipe.read, for: .readable) { [unowned self] _ in read() }
    (self.pipe, buffer, skipsLine, started) = (pipe, [], false, loop.now)
    if signs != nil { signTimer?.set(after: patience) }
  }

  func stop() {
    isStopped = true
    timer?.stop()
    child?.end(within: Self.grace)
  }

  private func read() {
    guard let pipe else { return }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe NetwatchLibC.read(pipe.read, &bytes, bytes.count)
    guard count > 0 else {
      guard count == 0 else { return }
      closePipe()
      // A program that has closed its output and runs on tells nothing any more.
      child?.end(within: Self.grace)
      return
    }
    buffer += bytes[..<count]
    var found: [[UInt8]] = []
    var start = buffer.startIndex
    while let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
      if !skipsLine { found.append(Array(buffer[start..<end])) }
      skipsLine = false
      start = buffer.index(after: end)
    }
    buffer.removeSubrange(..<start)
    if buffer.count > Self.longestLine { (buffer, skipsLine) = ([], true) }
    if !found.isEmpty { lines(found) }
  }

  private func closePipe() {
    if let registration { loop.remove(registration) }
    (registration, pipe) = (nil, nil)
  }

  private func childEnded(_ ending: ProcessEnding) {
    read()
    closePipe()
    signTimer?.stop()
    child = nil
    guard !isStopped else { return }
    // It has said what is wrong.
    switch ending {
    case .exited(64): return failed(UsageError("netwatch --follow does not take these options; correct --with."))
    case .exited(2): return failed(PlainError("netwatch --follow could not run"))
    default: break
    }
    // One that has run for a while is started again at once.
    if loop.now - started > Self.longEnough { backoff = Backoff() }
    again()
  }

  private func again() { timer?.set(after: backoff.nextPause()) }
}

/// A socket for the signs of life of a child, as sd_notify(3) sends them. Belongs to the thread of its loop.
private final class SignSocket {
  /// The name of the socket, as `NOTIFY_SOCKET` has it. Only the child knows it, and anybody who sends something does no harm.
  let name: String
  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private var registration: EventLoop.Registration?

  /// - Parameter take: The closure that is called when signs have come.
  /// - Throws: A `SystemError` if the system has no socket left.
  init(on loop: EventLoop, _ take: @escaping () -> Void) throws(SystemError) {
    self.loop = loop
    let kind = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    descriptor = try FileDescriptor.result(of: "socket", socket(AF_UNIX, kind, 0))
    let number = descriptor.rawValue
    name = try Self.bind(number)
    registration = try loop.watch(number, for: .readable) { _ in
      var byte: UInt8 = 0
      while unsafe recv(number, &byte, 1, 0) >= 0 {}
      take()
    }
  }

  deinit { if let registration { loop.remove(registration) } }

  /// Has the kernel choose a name that is not in the file system. It begins with a zero byte, for which '@' stands.
  private static func bind(_ descriptor: CInt) throws(SystemError) -> String {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var length = socklen_t(MemoryLayout<sa_family_t>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard unsafe NetwatchLibC.bind(descriptor, address, length) == 0 else { return false }
        length = socklen_t(MemoryLayout<sockaddr_un>.size)
        return unsafe getsockname(descriptor, address, &length) == 0
      }
    }
    guard isBound else { throw .last("bind") }
    let bytes = unsafe withUnsafeBytes(of: address.sun_path) {
      unsafe Array($0.prefix(Int(length) - MemoryLayout<sa_family_t>.size))
    }
    return "@" + String(decoding: bytes.dropFirst(), as: UTF8.self)
  }
}
