import Netwatch
import NetwatchEventLoop
import NetwatchFleet
import NetwatchLibC
import NetwatchMQTT
import NetwatchOptions
import NetwatchStream

/// Follows this machine by `netwatch --follow`, and does what a ``PublisherMachine`` says. Belongs to the thread of its loop.
final class Publisher {
  /// The time within which the broker must have accepted a connection.
  private static let patience = Duration.seconds(30)
  /// The time that each address of the broker has.
  private static let addressPatience = Duration.seconds(5)
  /// The time that the broker has for the last message when the program ends.
  private static let grace = Duration.seconds(2)
  /// The most connections that are given up and still wait for something, such as a name server.
  private static let mostAbandoned = 8

  private let loop: EventLoop
  private let options: PublishOptions
  private let settings: MQTTConnection.Settings
  private let instance: FleetInstance
  private let ownRun = FleetRun.new()
  private let host: String
  private let spool: LineSpool
  private let manager = ServiceManager.fromEnvironment()
  private var machine: PublisherMachine
  private var follower: Follower?
  private var connection: MQTTConnection?
  /// The tokens of what was published, by the numbers of the connection.
  private var tokens: [CInt: Int] = [:]
  private var abandoned: [Abandoned] = []
  /// The number of the message that the program ends.
  private var farewell: CInt?
  /// The number of the connection.
  private var attempt = 0
  private var timer: LoopTimer?
  private var guardTimer: LoopTimer?
  private var addressTimer: LoopTimer?
  private var signals: SignalSource?
  private var lastTrouble: String?
  private var hasWarnedOfSpool = false
  private var isEnding = false
  private var failure: (any Error)?

  init(_ options: PublishOptions, _ settings: MQTTConnection.Settings, _ instance: FleetInstance) throws {
    (self.options, self.instance) = (options, instance)
    loop = try EventLoop()
    host = Self.hostName
    spool = LineSpool(instance.spoolPath)
    machine = PublisherMachine(
      run: ownRun, waiting: try spool.read(at: loop.now), limit: options.mostWaiting, silence: options.silence,
      at: loop.now)
    var settings = settings
    // Two machines with one identity do not throw each other off, and are told apart by those who look.
    settings.clientID = "\(instance.machine)-\(ownRun)"
    self.settings = settings
  }

  private static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Runs until a signal.
  ///
  /// - Throws: The error because of which `netwatch --follow` cannot run, or a `SystemError`.
  func run() throws -> ProcessEnding {
    SignalSource.discard([SIGPIPE])
    signals = try SignalSource([SIGTERM, SIGINT, SIGHUP], on: loop) { [unowned self] _ in end() }
    timer = LoopTimer(on: loop) { [unowned self] in handle(.tick) }
    guardTimer = LoopTimer(on: loop) { [unowned self] in giveUp("the broker does not answer") }
    addressTimer = LoopTimer(on: loop) { [unowned self] in
      connection?.tryNextAddress()
      addressTimer?.set(after: Self.addressPatience)
    }
    follower = try Follower(
      options.followOptions, patience: min(options.silence * 2 / 3, .seconds(60)), on: loop,
      lines: { [unowned self] in take($0) },
      failed: { [unowned self] in
        failure = $0
        end()
      })
    manager.notify("READY=1")
    manager.feedWatchdog(on: loop)
    handle(.tick)
    try loop.run()
    if let failure { throw failure }
    return .exited(0)
  }

  private func end() {
    guard !isEnding else { return loop.stop() }
    isEnding = true
    follower?.stop()
    guardTimer?.set(after: Self.grace)
    handle(.stop)
  }

  // MARK: Lines

  /// The events of lines that are published. What is in flight and how fast changes too often, and says nothing about an outage.
  private static let events: Set<String> = ["initial", "reachability", "interfaces", "wifi", "stages"]

  private func take(_ lines: [[UInt8]]) {
    var inputs: [PublisherMachine.Input] = []
    for line in lines {
      guard let value = JSONValue(line[...]), let event = value["event"]?.string, Self.events.contains(event),
        let time = value["time"]?.string.flatMap(nanoseconds(of:)),
        let status = value["reachability"]?["status"]?.string
      else { continue }
      inputs.append(.line(line, time: time, status: status))
    }
    handle(inputs)
  }

  // MARK: The machine

  private func handle(_ input: PublisherMachine.Input) { handle([input]) }

  private func handle(_ inputs: [PublisherMachine.Input]) {
    var added = 0
    var isOther = false
    for input in inputs {
      for output in machine.handle(input, at: loop.now, chance: .random(in: 0...1)) {
        switch output {
        case .append(let count): added += count
        case .replace: isOther = true
        default: perform(output)
        }
      }
    }
    if isOther {
      spool.replace(with: machine.waiting, at: loop.now)
    } else if added > 0 {
      spool.append(machine.waiting.suffix(added), of: machine.waiting, at: loop.now)
    }
    spool.catchUp(machine.waiting, at: loop.now)
    if spool.isBehind, !hasWarnedOfSpool {
      StandardError.warn("no room is left in '\(instance.folder)'; lines for the broker wait in memory")
    }
    hasWarnedOfSpool = spool.isBehind
  }

  private func perform(_ output: PublisherMachine.Output) {
    switch output {
    case .connect: connect()
    case .announce(let absence):
      let number = publish(.presence, presence(absence).payload)
      if absence != nil { farewell = number }
    case .publish(let line, let token):
      if let number = publish(.line, line.payload) { tokens[number] = token }
    case .sign(let waiting):
      let sign = FleetSign(run: ownRun, time: KernelClock.wall.nanoseconds, waiting: Int64(waiting))
      let message = MQTTConnection.Message(
        topic: FleetTopic.alive.topic(of: instance.machine), payload: sign.payload, isRetained: false, quality: 0)
      connection?.publish(message)
    case .remove(let count): spool.removeFirst(count, of: machine.waiting, at: loop.now)
    case .sleep(let until): timer?.set(at: until)
    case .giveUp: giveUp("the broker takes no lines")
    case .finish: loop.stop()
    case .append, .replace: break
    }
  }

  private func presence(_ absence: FleetPresence.Absence?) -> FleetPresence {
    FleetPresence(
      run: ownRun, host: host, time: KernelClock.wall.nanoseconds, absence: absence,
      silence: options.silence.components.seconds, labels: options.labels, version: NetwatchVersion.text)
  }

  @discardableResult
  private func publish(_ topic: FleetTopic, _ payload: [UInt8]) -> CInt? {
    connection?.publish(MQTTConnection.Message(topic: topic.topic(of: instance.machine), payload: payload))
  }

  // MARK: The connection

  private func connect() {
    abandoned = abandoned.filter { $0.connection != nil }
    guard abandoned.count < Self.mostAbandoned else { return handle(.disconnected) }
    var settings = settings
    settings.will = MQTTConnection.Message(
      topic: FleetTopic.presence.topic(of: instance.machine), payload: presence(.lost).payload)
    tokens = [:]
    attempt += 1
    let own = LoopBound(self, on: loop)
    do throws(SystemError) {
      connection = try MQTTConnection(settings) { [handle = loop.handle, attempt] event in
        handle.submit { own.value(on: $0)?.take(event, of: attempt) }
      }
      guardTimer?.set(after: Self.patience)
      addressTimer?.set(after: Self.addressPatience)
    } catch {
      tell(trouble: error.message)
      handle(.disconnected)
    }
  }

  private func take(_ event: MQTTConnection.Event, of attempt: Int) {
    guard attempt == self.attempt, connection != nil else { return }
    switch event {
    case .connected:
      guardTimer?.stop()
      addressTimer?.stop()
      tell(trouble: nil)
      handle(.connected)
    case .acknowledged(let number):
      // The broker has the last message, and forgets the will.
      if number == farewell { connection?.close() }
      if let token = tokens.removeValue(forKey: number) { handle(.acknowledged(token)) }
    case .disconnected(let reason):
      connection = nil
      if isEnding { return loop.stop() }
      guardTimer?.stop()
      addressTimer?.stop()
      tell(trouble: reason)
      handle(.disconnected)
    }
  }

  /// Goes on without the connection, whatever it waits for.
  private func giveUp(_ reason: String) {
    if isEnding { return loop.stop() }
    guardTimer?.stop()
    addressTimer?.stop()
    connection?.abandon()
    if let connection { abandoned.append(Abandoned(connection: connection)) }
    connection = nil
    tell(trouble: reason)
    handle(.disconnected)
  }

  /// Says once why there is no connection, and once that there is one again.
  private func tell(trouble: String?) {
    guard trouble != lastTrouble else { return }
    if let trouble {
      StandardError.warn("cannot reach the broker \(settings.broker): \(trouble); trying again".sanitizedForTerminal)
      manager.notify("STATUS=Out of reach: \(trouble)".sanitizedForTerminal)
    } else {
      if lastTrouble != nil { StandardError.write("netwatch: connected to the broker \(settings.broker)\n") }
      manager.notify("STATUS=Connected to \(settings.broker)")
    }
    lastTrouble = trouble
  }

  /// A connection that was given up. It is there until its thread has ended.
  private struct Abandoned {
    weak var connection: MQTTConnection?
  }
}

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
