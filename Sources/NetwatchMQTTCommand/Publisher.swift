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
    manager.notify("READY=1\nSTATUS=\(instance.machine) connects to \(settings.broker)")
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
    if hasWarnedOfSpool, !spool.isBehind { StandardError.write("netwatch: lines for the broker are stored again\n") }
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
    case .disconnected(let reason): isOver(reason)
    }
  }

  /// Goes on without the connection, whatever it waits for.
  private func giveUp(_ reason: String) {
    connection?.abandon()
    if let connection { abandoned.append(Abandoned(connection: connection)) }
    isOver(reason)
  }

  private func isOver(_ reason: String) {
    connection = nil
    if isEnding { return loop.stop() }
    guardTimer?.stop()
    addressTimer?.stop()
    tell(trouble: reason)
    handle(.disconnected)
  }

  /// Says once why there is no connection, and once that there is one again.
  private func tell(trouble: String?) {
    guard let trouble else {
      if lastTrouble != nil { StandardError.write("netwatch: connected to the broker \(settings.broker)\n") }
      lastTrouble = nil
      return manager.notify("STATUS=\(instance.machine) is connected to \(settings.broker)")
    }
    guard trouble != lastTrouble else { return }
    StandardError.warn("cannot reach the broker \(settings.broker): \(trouble); trying again".sanitizedForTerminal)
    manager.notify("STATUS=\(instance.machine) cannot reach \(settings.broker): \(trouble)".sanitizedForTerminal)
    lastTrouble = trouble
  }

  /// A connection that was given up. It is there until its thread has ended.
  private struct Abandoned {
    weak var connection: MQTTConnection?
  }
}
