import Testing

@testable import Netwatch

extension ProgramMeter {
  /// Sets the program of a connection: a process with the given name, of which there is only one.
  fileprivate mutating func identify(_ cookie: UInt64, named name: String?) {
    identify(cookie, as: name.map { ProgramFigures.Process(id: Int32($0.utf8.first ?? 1), start: 1, name: $0) })
  }
}

/// What the sockets of programs carry, as it follows from looks at connections and from their ends.
@Suite struct ProgramMeterTests {
  typealias Traffic = ProgramFigures.Traffic

  private static func facts(
    _ cookie: UInt64, _ received: UInt64, _ sent: UInt64, inode: UInt32? = nil, user: UInt32 = 1_000, age: Int64 = 0
  ) -> ConnectionFacts {
    var facts = ConnectionFacts(cookie: cookie, stage: .open)
    facts.inode = inode ?? UInt32(truncatingIfNeeded: cookie)
    facts.user = user
    (facts.payloadReceived, facts.payloadSent) = (received, sent)
    (facts.sentAge, facts.receivedAge, facts.heardAge) = (age, age, age)
    return facts
  }

  /// A meter with a second between two looks, and the names of programs by the inodes of their sockets.
  private struct World {
    var meter = ProgramMeter()
    var now = Duration.seconds(100)
    var programs: [UInt32: String?] = [:]

    /// Looks at the open connections one second later, and returns the figures.
    @discardableResult
    mutating func look(_ open: ConnectionFacts..., isWhole: Bool = true, link: LinkTraffic? = nil) -> ProgramFigures {
      now += .seconds(1)
      meter.beginLook(at: now)
      for facts in open { meter.see(facts) }
      meter.endLook(isWhole: isWhole)
      return figures(link: link)
    }

    mutating func figures(link: LinkTraffic? = nil) -> ProgramFigures {
      var found: [UInt64: String?] = [:]
      meter.forEachUnidentified { cookie, inode, _ in if let name = programs[inode] { found[cookie] = name } }
      for (cookie, name) in found { meter.identify(cookie, named: name) }
      return meter.figures(at: now, link: link)
    }

    mutating func end(_ facts: ConnectionFacts) { meter.end(facts, at: now) }
  }

  /// Returns the bytes that a program has received and sent.
  private static func bytes(_ figures: ProgramFigures, _ name: String?, user: UInt32 = 1_000) -> [UInt64]? {
    figures.programs.first { $0.name == name && $0.user == user }.map { [$0.traffic.received, $0.traffic.sent] }
  }

  @Test func `bytes count from the first look, and to the end of a connection`() {
    var world = World(programs: [1: "curl", 2: "curl", 3: "ssh"])
    #expect(world.look(Self.facts(1, 1_000, 100), Self.facts(3, 7, 7)).programs.isEmpty)
    // All bytes of a new connection count.
    let figures = world.look(Self.facts(1, 1_500, 100), Self.facts(2, 30, 20), Self.facts(3, 7, 7))
    #expect(Self.bytes(figures, "curl") == [530, 20])
    #expect(figures.programs.map(\.traffic.receivedBitsPerSecond) == [530 * 8])
    #expect(figures.programs.map(\.traffic.sentBitsPerSecond) == [160])
    world.end(Self.facts(1, 2_000, 150, inode: 0, user: 0))
    world.end(Self.facts(3, 8, 7, inode: 0, user: 0))
    let last = world.look(Self.facts(2, 30, 20))
    #expect(Self.bytes(last, "curl") == [1_030, 70])
    #expect(Self.bytes(last, "ssh") == [1, 0])
    #expect(last.shortLived.isNothing)
  }

  @Test func `a connection that no look has seen is short-lived`() {
    var world = World()
    world.look()
    world.end(Self.facts(9, 400, 40, inode: 0))
    let figures = world.look()
    #expect(figures.shortLived.received == 400)
    #expect(figures.shortLived.sentBitsPerSecond == 320)
    #expect(figures.programs.isEmpty)
  }

  @Test func `an end before the first whole look counts nothing`() {
    var world = World(programs: [1: "curl"])
    world.end(Self.facts(9, 400, 40, inode: 0))
    world.look(Self.facts(1, 50, 50), isWhole: false)
    world.end(Self.facts(8, 400, 40, inode: 0))
    // The second connection may have existed before, because the look before was incomplete.
    world.look(Self.facts(1, 60, 50), Self.facts(2, 1_000, 0))
    let figures = world.look(Self.facts(1, 60, 50), Self.facts(2, 1_000, 0))
    #expect(figures.shortLived.isNothing)
    #expect(Self.bytes(figures, "curl") == [10, 0])
    #expect(figures.programs.count == 1)
  }

  @Test func `what was reset long ago and is closed only now counts nothing`() {
    var world = World()
    world.look()
    world.look()
    world.end(Self.facts(9, 400, 40, inode: 0, age: 3_000_000_000))
    world.end(Self.facts(8, 5, 5, inode: 0, age: 900_000_000))
    #expect(world.look().shortLived.received == 5)
  }

  @Test func `a connection that leaves the looks keeps its counters until it ends`() {
    var world = World(programs: [1: "curl"])
    world.look()
    world.look(Self.facts(1, 10, 10))
    for _ in 0..<20 { world.look() }
    world.end(Self.facts(1, 15, 10, inode: 0, age: 20_000_000_000))
    let figures = world.figures()
    #expect(Self.bytes(figures, "curl") == [15, 10])
    #expect(figures.shortLived.isNothing)
  }

  @Test func `an end that is lost is forgotten, and counts once if it comes at last`() {
    var world = World(programs: [1: "curl"])
    world.look()
    world.look(Self.facts(1, 10, 10))
    world.meter.loseEnds()
    for _ in 0..<100 { world.look() }
    world.end(Self.facts(1, 10, 10, inode: 0, age: 100_000_000_000))
    let figures = world.figures()
    #expect(Self.bytes(figures, "curl") == [10, 10])
    #expect(figures.shortLived.isNothing)
    #expect(figures.overruns == 1)
  }

  @Test func `a counter that goes backwards adds nothing, and does not begin anew`() {
    var world = World(programs: [1: "curl"])
    world.look()
    world.look(Self.facts(1, 100, 100))
    #expect(Self.bytes(world.look(Self.facts(1, 90, 110)), "curl") == [100, 110])
    #expect(Self.bytes(world.look(Self.facts(1, 105, 105)), "curl") == [105, 110])
    // A reset clears the counters.
    world.end(Self.facts(1, 0, 0, inode: 0))
    #expect(Self.bytes(world.look(), "curl") == [105, 110])
  }

  @Test func `a cookie that is used again is another connection`() {
    var world = World(programs: [1: "curl", 2: "ssh"])
    world.look()
    world.look(Self.facts(7, 100, 100, inode: 1))
    let figures = world.look(Self.facts(7, 30, 30, inode: 2))
    #expect(Self.bytes(figures, "curl") == [100, 100])
    #expect(Self.bytes(figures, "ssh") == [30, 30])
    world.end(Self.facts(7, 31, 30, inode: 0))
    world.look(Self.facts(7, 5, 5, inode: 1))
    let last = world.figures()
    #expect(Self.bytes(last, "curl") == [105, 105])
    #expect(Self.bytes(last, "ssh") == [31, 30])
  }

  @Test func `programs that cannot be known are a row for each user`() {
    var world = World(programs: [1: String?.none, 2: String?.none, 3: String?.none])
    world.look()
    world.look(Self.facts(1, 1, 0, user: 0), Self.facts(2, 2, 0, user: 0), Self.facts(3, 4, 0, user: 33))
    // The connection has ended before its program could be found.
    world.look(Self.facts(4, 8, 0, user: 33))
    world.end(Self.facts(4, 16, 0, inode: 0, user: 0))
    // The program has closed the connection before the first look at it.
    world.look(Self.facts(5, 32, 0, inode: 0, user: 0))
    world.end(Self.facts(5, 32, 0, inode: 0, user: 0))
    let figures = world.figures()
    #expect(Self.bytes(figures, nil, user: 0) == [3, 0])
    #expect(Self.bytes(figures, nil, user: 33) == [4, 0])
    #expect(figures.shortLived.received == 48)
  }

  @Test func `connections in flight are counted by program`() {
    var world = World(programs: [1: "curl", 2: "curl", 3: "ssh"])
    world.look(Self.facts(1, 0, 0), Self.facts(2, 0, 0), Self.facts(3, 0, 0))
    world.meter.setInFlight([1, 2, 99])
    #expect(world.figures().programs.map(\.inFlight) == [2])
    world.meter.setInFlight([3])
    #expect(world.figures().programs.map(\.name) == ["ssh"])
  }

  private static func link(_ received: UInt64, _ sent: UInt64, index: Int32 = 2) -> LinkTraffic {
    LinkTraffic(kernelName: InterfaceName("eth0"), interfaceIndex: index, receivedBytes: received, sentBytes: sent)
  }

  @Test func `the bytes of the link that are no payload are an estimate that is never negative`() {
    var world = World(programs: [1: "curl"])
    #expect(world.look(link: Self.link(1_000, 1_000)).other == nil)
    var figures = world.look(Self.facts(1, 100, 20), link: Self.link(1_150, 1_010))
    #expect(figures.other?.received == 50)
    #expect(figures.other?.sent == 0)
    // The first sample of another link, or of counters that begin again, adds nothing. Payload of that time is not
    // subtracted.
    figures = world.look(Self.facts(1, 900, 20), link: Self.link(9_000, 9_000, index: 3))
    #expect(figures.other?.received == 50)
    figures = world.look(Self.facts(1, 900, 20), link: Self.link(10, 10, index: 3))
    figures = world.look(Self.facts(1, 900, 20), link: Self.link(17, 40, index: 3))
    #expect(figures.other?.received == 57)
    #expect(figures.other?.sent == 20)
    #expect(world.look(Self.facts(1, 900, 20)).other?.received == 57)
  }

  @Test func `there is no rate after a suspend, nor if no time has passed`() {
    var world = World(programs: [1: "curl"])
    world.look()
    world.look(Self.facts(1, 10, 10))
    #expect(world.figures().programs.first?.traffic.receivedBitsPerSecond == nil)
    let figures = world.meter.figures(at: world.now + .seconds(1), suspended: .seconds(3_600))
    #expect(figures.programs.first?.traffic.receivedBitsPerSecond == nil)
    let next = world.meter.figures(at: world.now + .seconds(2), suspended: .seconds(3_600))
    #expect(next.programs.first?.traffic.receivedBitsPerSecond == 0)
  }

  /// Two processes of one program, and one of another in the same unit.
  private static func figures(by grouping: ProgramFigures.Grouping) -> ProgramFigures {
    var world = World(meter: ProgramMeter(by: grouping))
    let processes = [
      ProgramFigures.Process(id: 10, start: 1, name: "nginx", unit: "web.service"),
      .init(id: 11, start: 1, name: "nginx", unit: "docker-0123456789ab"),
      .init(id: 12, start: 1, name: "php", unit: "web.service"),
    ]
    world.look()
    world.look(Self.facts(1, 10, 1), Self.facts(2, 20, 2), Self.facts(3, 30, 3), Self.facts(4, 40, 4))
    for (cookie, process) in zip([1, 2, 3] as [UInt64], processes) { world.meter.identify(cookie, as: process) }
    world.meter.identify(4, as: nil)
    world.meter.setInFlight([1, 2, 3, 4])
    return world.figures()
  }

  @Test(arguments: ProgramFigures.Grouping.allCases) func `rows are of programs, processes or units`(
    _ grouping: ProgramFigures.Grouping
  ) {
    let rows = Self.figures(by: grouping).programs.map { program in
      let name = program.name ?? program.unit ?? "-"
      return "\(name) \(program.process ?? 0) \(program.traffic.received) \(program.inFlight)"
    }
    let expected =
      switch grouping {
      case .name: ["- 0 40 1", "nginx 0 30 2", "php 0 30 1"]
      case .pid: ["- 0 40 1", "nginx 10 10 1", "nginx 11 20 1", "php 12 30 1"]
      case .unit: ["- 0 40 1", "docker-0123456789ab 0 20 1", "web.service 0 40 2"]
      }
    #expect(rows.sorted() == expected)
  }

  @Test func `a process takes its bytes along to its new name`() {
    var world = World()
    let process = ProgramFigures.Process(id: 10, start: 1, name: "bash")
    world.look()
    world.look(Self.facts(1, 10, 1))
    world.meter.identify(1, as: process)
    #expect(world.meter.processes == [process])
    #expect(Self.bytes(world.figures(), "bash") == [10, 1])
    world.meter.rename(process, to: "curl")
    let figures = world.look(Self.facts(1, 15, 1))
    #expect(Self.bytes(figures, "bash") == nil && Self.bytes(figures, "curl") == [15, 1])
    #expect(figures.programs.first?.traffic.receivedBitsPerSecond == 40)
    world.end(Self.facts(1, 15, 1))
    #expect(world.meter.processes.isEmpty)
    // Another process has the same ID later.
    world.look(Self.facts(2, 7, 7))
    world.meter.identify(2, as: .init(id: 10, start: 2, name: "ssh"))
    #expect(Self.bytes(world.figures(), "curl") == [15, 1] && Self.bytes(world.figures(), "ssh") == [7, 7])
  }

  @Test func `processes that have ended are added up by name, and no byte is lost`() {
    var world = World(meter: ProgramMeter(by: .pid))
    world.look()
    for cookie in 1...5_000 as ClosedRange<UInt64> {
      world.meter.see(Self.facts(cookie, 2, 1))
      world.meter.identify(cookie, as: .init(id: Int32(cookie), start: 1, name: "curl"))
      world.end(Self.facts(cookie, 2, 1))
      if cookie.isMultiple(of: 100) { world.look() }
    }
    let figures = world.look()
    #expect(figures.programs.count <= 1_025 && figures.programs.contains { $0.process == nil })
    #expect(figures.programs.allSatisfy { $0.name == "curl" })
    #expect(figures.programs.reduce(0) { $0 + $1.traffic.received } == 10_000)
    // They have carried nothing since the figures before.
    #expect(figures.programs.allSatisfy { $0.traffic.receivedBitsPerSecond == 0 })
  }

  @Test func `memory is bounded, whatever programs do`() {
    var world = World()
    world.look()
    for cookie in 1...5_000 as ClosedRange<UInt64> {
      world.meter.see(Self.facts(cookie, 1, 1))
      world.meter.identify(cookie, as: .init(id: Int32(cookie), start: 1, name: "program \(cookie)"))
    }
    let figures = world.figures()
    #expect(figures.programs.count <= 4_097)
    #expect(figures.programs.reduce(0) { $0 + $1.traffic.received } == 5_000)
  }

  @Test func `no order of events and no number makes it trap, and sums never fall`() {
    var generator = SystemRandomNumberGenerator()
    var world = World(programs: [1: "a", 2: "b", 3: String?.none])
    var last: [String: UInt64] = [:]
    func number() -> UInt64 { UInt64.random(in: 0...UInt64.max, using: &generator) >> UInt64.random(in: 0..<64) }
    for _ in 0..<20_000 {
      var facts = Self.facts(number() % 8, number(), number(), inode: UInt32(number() % 5))
      (facts.heardAge, facts.sentAge) = (Int64(bitPattern: number()), Int64(bitPattern: number()))
      switch number() % 8 {
      case 0: world.meter.beginLook(at: Duration.nanoseconds(Int64(bitPattern: number())))
      case 1: world.meter.endLook(isWhole: number().isMultiple(of: 2))
      case 2: world.end(facts)
      case 3: world.meter.loseEnds()
      case 4: world.meter.setInFlight([facts.cookie])
      case 5:
        world.now = Duration.nanoseconds(Int64(bitPattern: number()))
        for program in world.figures(link: Self.link(number(), number(), index: Int32(number() % 3))).programs {
          let key = "\(program.name ?? "-") \(program.user)"
          #expect(program.traffic.received >= last[key] ?? 0)
          last[key] = program.traffic.received
        }
      default: world.meter.see(facts)
      }
    }
  }
}
