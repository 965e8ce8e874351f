import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchFleet

/// What a machine tells its broker, and when.
@Suite struct PublisherMachineTests {
  private static let run = FleetRun("00c0ffee")!
  private static let silence = Duration.seconds(90)

  /// A machine with a clock of its own, and what it has done.
  private struct Machine {
    var machine: PublisherMachine
    var now = Duration.zero

    init(waiting: [WaitingLine] = [], limit: Int = 100) {
      machine = PublisherMachine(
        run: PublisherMachineTests.run, waiting: waiting, limit: limit, silence: PublisherMachineTests.silence,
        at: .zero)
    }

    mutating func callAsFunction(_ input: PublisherMachine.Input) -> [PublisherMachine.Output] {
      machine.handle(input, at: now, chance: 1)
    }

    mutating func line(_ text: String = "{}", at time: Int64 = 0, status: String = "wifi") -> [PublisherMachine.Output]
    {
      self(.line(Array(text.utf8), time: time, status: status))
    }

    mutating func connect() -> [PublisherMachine.Output] {
      _ = self(.tick)
      return self(.connected)
    }
  }

  private static func published(_ outputs: [PublisherMachine.Output]) -> [Int64] {
    outputs.compactMap { if case .publish(let line, _) = $0 { line.number } else { nil } }
  }

  private static func tokens(_ outputs: [PublisherMachine.Output]) -> [Int] {
    outputs.compactMap { if case .publish(_, let token) = $0 { token } else { nil } }
  }

  @Test func `it connects at once, says that it is there, and then what waits, in order`() {
    var machine = Machine()
    #expect(machine.line() == [.append(count: 1)])
    _ = machine.line()
    #expect(machine(.tick) == [.connect])
    let outputs = machine(.connected)
    #expect(outputs.first == .announce(nil))
    #expect(Self.published(outputs) == [1, 2])
    #expect(Self.published(machine.line()) == [3])
  }

  @Test func `a line waits until the broker has it, and the one before it`() {
    var machine = Machine()
    _ = machine.connect()
    let tokens = (0..<3).flatMap { _ in Self.tokens(machine.line()) }
    #expect(machine(.acknowledged(tokens[1])) == [])
    #expect(machine(.acknowledged(tokens[0])) == [.remove(count: 2)])
    #expect(machine.machine.waiting.map(\.number) == [3])
    // An answer that comes twice, or to nothing.
    #expect(machine(.acknowledged(tokens[0])) == [] && machine(.acknowledged(77)) == [])
  }

  @Test func `after a new connection, what was on its way is told again, in its order`() {
    var machine = Machine()
    _ = machine.connect()
    let tokens = (0..<3).flatMap { _ in Self.tokens(machine.line()) }
    _ = machine(.acknowledged(tokens[1]))
    _ = machine(.disconnected)
    _ = machine.line()
    machine.now = .seconds(1)
    let outputs = machine.connect()
    #expect(Self.published(outputs) == [1, 2, 3, 4])
    // An acknowledgement of the old connection says nothing.
    #expect(machine(.acknowledged(tokens[0])) == [])
  }

  @Test func `only so many lines are on their way at a time`() {
    var machine = Machine(limit: 1_000)
    for _ in 0..<200 { _ = machine.line() }
    let outputs = machine.connect()
    #expect(Self.published(outputs) == Array(1...Int64(PublisherMachine.window)))
    let next = machine(.acknowledged(Self.tokens(outputs)[0]))
    #expect(Self.published(next) == [Int64(PublisherMachine.window) + 1])
  }

  @Test func `the pauses between connections double to a minute, by chance, and begin anew`() {
    var machine = Machine()
    #expect(machine(.tick) == [.connect])
    for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
      let until = machine.now + .seconds(pause)
      #expect(machine(.disconnected) == [.sleep(until: until)])
      #expect(machine(.tick) == [.sleep(until: until)])
      machine.now = until
      #expect(machine(.tick) == [.connect])
    }
    // A broker that accepts the connection and closes it is not asked every second.
    _ = machine(.connected)
    #expect(machine(.disconnected) == [.sleep(until: machine.now + .seconds(60))])
    machine.now += .seconds(60)
    _ = machine(.tick)
    _ = machine(.connected)
    let tokens = Self.tokens(machine.line())
    _ = machine(.acknowledged(tokens[0]))
    let next = machine.machine.handle(.disconnected, at: machine.now, chance: 0)
    #expect(next == [.sleep(until: machine.now + .milliseconds(500))])
  }

  @Test func `a sign comes three times within the silence, with what waits, but not for a time that has passed`() {
    var machine = Machine()
    let outputs = machine.connect()
    #expect(outputs.last == .sleep(until: .seconds(30)))
    machine.now = .seconds(29)
    let token = Self.tokens(machine.line())[0]
    machine.now = .seconds(30)
    #expect(machine(.tick) == [.sign(waiting: 1), .sleep(until: .seconds(59))])
    _ = machine(.acknowledged(token))
    // A suspend.
    machine.now = .seconds(10_000)
    // The last will of an earlier run may have come meanwhile, and the broker retains it.
    #expect(machine(.tick) == [.announce(nil), .sign(waiting: 0), .sleep(until: .seconds(10_030))])
    #expect(machine(.tick) == [.sleep(until: .seconds(10_030))])
    machine.now = .seconds(10_030)
    #expect(machine(.tick) == [.sign(waiting: 0), .sleep(until: .seconds(10_060))])
    // An engine forgets after a time what a machine that never goes away is called.
    machine.now = .seconds(10_000 + 86_400)
    #expect(machine(.tick).first == .announce(nil))
  }

  @Test func `a broker that acknowledges nothing is given up, and a slow one is not`() {
    var machine = Machine()
    _ = machine.connect()
    machine.now = .seconds(20)
    let outputs = machine.line()
    #expect(outputs.last == .sleep(until: .seconds(30)))
    let tokens = Self.tokens(outputs) + Self.tokens(machine.line())
    machine.now = .seconds(45)
    _ = machine(.acknowledged(tokens[1]))
    machine.now = .seconds(74)
    #expect(machine(.tick).last == .sleep(until: .seconds(75)))
    machine.now = .seconds(75)
    #expect(machine(.tick) == [.giveUp])
    _ = machine(.disconnected)
    machine.now = .seconds(76)
    #expect(Self.published(machine.connect()) == [1, 2])
  }

  @Test func `lines that are long wait as long as they have room`() {
    var machine = Machine(limit: 100_000)
    let text = "\"\(String(repeating: "x", count: 65_000))\""
    for _ in 0..<2_000 { _ = machine.line(text) }
    let waiting = machine.machine.waiting
    #expect(waiting.reduce(0) { $0 + $1.payload.count } <= PublisherMachine.mostBytes)
    #expect(waiting.count > 900 && waiting.reduce(0) { $0 + max($1.lost, 1) } == 2_000)
  }

  @Test func `beyond the limit, the oldest lines become one gap`() throws {
    var machine = Machine(limit: 10)
    for _ in 0..<11 { #expect(machine.line() == [.append(count: 1)]) }
    #expect(machine.line() == [.replace])
    #expect(machine.machine.waiting.map(\.number) == Array(2...12).map { Int64($0) })
    let gap = try #require(machine.machine.waiting.first)
    #expect(gap.lost == 2 && FleetLine(gap.payload)?.content == .gap(2))
    for _ in 0..<100 { _ = machine.line() }
    // Nothing is lost without being counted.
    #expect(machine.machine.waiting.reduce(0) { $0 + max($1.lost, 1) } == 112)
    #expect(machine.machine.waiting.dropFirst().allSatisfy { $0.lost == 0 })
  }

  @Test func `what is on its way is not made a gap`() {
    var machine = Machine(limit: 10)
    _ = machine.connect()
    let tokens = (0..<5).flatMap { _ in Self.tokens(machine.line()) }
    for _ in 0..<80 { _ = machine.line() }
    #expect(machine.machine.waiting.prefix(5).map(\.number) == [1, 2, 3, 4, 5])
    #expect(machine(.acknowledged(tokens[0])).first == .remove(count: 1))
  }

  @Test func `gaps of two runs stay two`() throws {
    let old = WaitingLine(FleetLine(run: FleetRun("0000000a")!, number: 7, content: .line(Array("{}".utf8))))
    var machine = Machine(waiting: [old], limit: 10)
    for _ in 0..<30 { _ = machine.line() }
    let gaps = machine.machine.waiting.prefix { $0.lost > 0 }
    #expect(gaps.map(\.lost) == [1, gaps.last?.number] && gaps.first?.number == 7)
  }

  @Test func `a line has since when the machine is as reachable as it says`() throws {
    var machine = Machine()
    _ = machine.line(at: 1_000_000_000, status: "wifi")
    _ = machine.line(at: 2_000_000_000, status: "wifi")
    _ = machine.line(at: 3_000_000_000, status: "not-reachable")
    let since = machine.machine.waiting.map { FleetLine($0.payload)?.since }
    #expect(since == [1_000_000_000, 1_000_000_000, 3_000_000_000])
  }

  @Test func `at the end it says so, if it can`() {
    var machine = Machine()
    #expect(machine(.stop) == [.finish])
    machine = Machine()
    _ = machine.connect()
    #expect(machine(.stop) == [.announce(.ended)])
    #expect(machine(.disconnected) == [] && machine(.tick) == [])
  }

  /// Whatever the network does, each line comes to the broker, first in its order, or is counted in a gap.
  @Test(arguments: 0..<50) func `by chance, nothing is lost and nothing comes out of order`(_ seed: UInt64) {
    var random = SplitMix(seed: seed)
    var machine = Machine(limit: Int.random(in: 10...200, using: &random))
    var flying: [(token: Int, line: WaitingLine)] = []
    var seen: [Int64: Int64] = [:]
    var written: Int64 = 0
    var last: Int64 = 0
    func perform(_ outputs: [PublisherMachine.Output]) {
      for output in outputs {
        switch output {
        case .publish(let line, let token): flying.append((token, line))
        case .giveUp:
          flying = []
          perform(machine(.disconnected))
        default: break
        }
      }
    }
    for _ in 0..<2_000 {
      machine.now += .milliseconds(Int.random(in: 0...3_000, using: &random))
      switch Int.random(in: 0..<10, using: &random) {
      case 0...3:
        written += 1
        perform(machine.line())
      case 4: perform(machine(.tick))
      case 5: perform(machine(.connected))
      case 6 where Int.random(in: 0..<8, using: &random) == 0:
        // The broker has what it has; what it would have answered is lost.
        flying = []
        perform(machine(.disconnected))
      default:
        guard !flying.isEmpty else { continue }
        let (token, line) = flying.removeFirst()
        if seen[line.number] == nil {
          #expect(line.number - max(line.lost, 1) <= last, "a hole before \(line.number)")
          last = max(last, line.number)
        }
        seen[line.number] = max(line.lost, 1)
        if Bool.random(using: &random) {
          perform(machine(.acknowledged(token)))
        } else {
          flying.insert((token, line), at: 0)
        }
      }
    }
    let waiting = machine.machine.waiting.map(\.number)
    #expect(waiting == waiting.sorted() && Set(waiting).count == waiting.count)
    #expect(max(last, waiting.last ?? 0) == written)
  }

  @Test func `a spool full of the highest numbers is dropped as any other`() {
    let line = FleetLine(run: Self.run, number: FleetLine.mostNumber, content: .gap(FleetLine.mostNumber))
    let old = [WaitingLine](repeating: WaitingLine(line), count: 40)
    #expect(FleetLine(line.payload) == line)
    var machine = Machine(waiting: old, limit: 10)
    _ = machine.line()
    #expect(machine.machine.waiting.first?.lost == FleetLine.mostNumber)
  }
}
