import Testing

@testable import Netwatch

/// Which connections count as requests, and when the indicator shows them.
@Suite struct ConnectionActivityTests {
  typealias Effects = ConnectionActivity.Effects

  /// Returns a script with these connections, which are watched from the beginning.
  private static func script(
    _ rules: ConnectionRules = .init(), _ connections: ScriptedConnection...
  ) -> ConnectionScript {
    var script = ConnectionScript(rules)
    script.connections = connections
    script.watch()
    return script
  }

  private static func seconds(_ seconds: Double) -> Duration { .milliseconds(Int(seconds * 1_000)) }

  // MARK: Requests

  /// The request begins at any time between two scans.
  @Test(arguments: Array(stride(from: 0, to: 520, by: 13)))
  func `a request of five seconds shows after one, and hides soon after its end`(offset: Int) {
    for (isKept, isOld) in [(false, false), (true, false), (true, true)] {
      let begin = Self.seconds(3) + .milliseconds(offset)
      var connection = ScriptedConnection(1, at: isOld ? .seconds(1) : begin)
      if isOld { connection.request(at: .seconds(1), answeredAfter: .milliseconds(40)) }
      connection.request(at: begin, answeredAfter: .seconds(5))
      let end = begin + .seconds(5)
      if !isKept { connection.add(.closes, at: end + .milliseconds(1)) }
      var script = Self.script(.init(), connection)
      script.run(until: .seconds(20))
      #expect(script.shown.count == 1 && script.hidden.count == 1)
      #expect(script.shown.allSatisfy { begin + .milliseconds(990)...begin + .milliseconds(1_030) ~= $0 })
      #expect(script.hidden.allSatisfy { end...end + .milliseconds(620) ~= $0 }, "\(script.hidden) \(end)")
      #expect(script.counts.suffix(2) == [1, 0])
    }
  }

  @Test(arguments: Array(stride(from: 0, to: 520, by: 13)))
  func `a request of 300 ms never shows`(offset: Int) {
    for isKept in [false, true] {
      let begin = Self.seconds(3) + .milliseconds(offset)
      var connection = ScriptedConnection(1, at: begin)
      connection.request(at: begin, answeredAfter: .milliseconds(300))
      if !isKept { connection.add(.closes, at: begin + .milliseconds(301)) }
      var script = Self.script(.init(), connection)
      script.run(until: .seconds(40))
      #expect(script.shown.isEmpty)
      #expect([[], [1, 0]].contains(script.counts))
    }
  }

  @Test func `a train of short requests on connections of their own shows, and does not flicker`() {
    var script = ConnectionScript()
    for number in 0..<100 {
      let begin = Duration.seconds(3) + .milliseconds(100 * number)
      var connection = ScriptedConnection(UInt64(number), at: begin)
      connection.request(at: begin, answeredAfter: .milliseconds(90))
      connection.add(.closes, at: begin + .milliseconds(91))
      script.connections.append(connection)
    }
    script.watch()
    script.run(until: .seconds(30))
    #expect(script.shown.count == 1 && script.hidden.count == 1)
    #expect(script.shown[0] <= .seconds(5))
    #expect(script.hidden[0] <= .seconds(13) + .milliseconds(700))
  }

  @Test func `requests on one connection that is kept count one at a time`() {
    var connection = ScriptedConnection(1, at: .seconds(1))
    for number in 0..<50 {
      connection.request(at: .seconds(1) + .milliseconds(100 * number), answeredAfter: .milliseconds(95))
    }
    var script = Self.script(.init(), connection)
    script.run(until: .seconds(60))
    #expect(script.counts == [1, 0])
    #expect(script.shown.count == 1)
    #expect(script.hidden == script.hidden.filter { $0 <= .seconds(6) + .milliseconds(700) })
  }

  @Test func `answers within a tick of the kernel's clock are answers, questions are questions`() {
    // Each answer comes in the same tick of the kernel's clock as its question.
    var quick = ScriptedConnection(1, at: .seconds(1))
    quick.add(.sends(300), at: .seconds(2))
    quick.add(.receives(300), at: .seconds(2) + .milliseconds(1))
    quick.add(.sends(300), at: .seconds(2) + .milliseconds(1))
    quick.add(.receives(300), at: .seconds(2) + .milliseconds(2))
    var script = Self.script(.init(), quick)
    script.run(until: .seconds(40))
    #expect(script.shown.isEmpty)
    // The next question is sent in the same tick as an answer, as after a TLS handshake.
    var slow = ScriptedConnection(1, at: .seconds(1))
    slow.add(.sends(300), at: .seconds(1))
    slow.add(.receives(3_000), at: .seconds(1) + .milliseconds(20))
    slow.add(.sends(300), at: .seconds(1) + .milliseconds(22))
    slow.add(.hears, at: .seconds(1) + .milliseconds(40))
    slow.add(.receives(300), at: .seconds(5))
    script = Self.script(.init(), slow)
    script.run(until: .seconds(40))
    #expect(script.counts == [1, 0])
    #expect(script.shown.allSatisfy { $0 <= .seconds(2) + .milliseconds(50) } && script.shown.count == 1)
  }

  @Test func `connecting counts, from its first attempt`() {
    var connection = ScriptedConnection(1, at: Self.seconds(3.3), isConnecting: true)
    connection.add(.connects, at: .seconds(6))
    var script = Self.script(.init(), connection)
    script.run(until: .seconds(20))
    #expect(script.shown == [Self.seconds(4.3)])
    #expect(script.hidden.allSatisfy { .seconds(6)...Self.seconds(6.7) ~= $0 } && script.hidden.count == 1)
  }

  @Test func `a connection that only is there does not count`() {
    var script = Self.script(.init(), ScriptedConnection(1, at: .seconds(1)))
    script.run(until: .seconds(100))
    #expect(script.counts.isEmpty)
  }

  @Test func `an answer that drips counts to its last drop`() {
    for gap in [100, 200, 400] {
      var connection = ScriptedConnection(1, at: .seconds(1))
      connection.add(.sends(100), at: .seconds(1))
      for number in 1...50 {
        connection.add(.receives(1), at: .seconds(1) + .milliseconds(gap * number))
      }
      let end = Duration.seconds(1) + .milliseconds(gap * 50)
      var script = Self.script(.init(), connection)
      script.run(until: .seconds(60))
      #expect(script.counts == [1, 0], "every \(gap) ms")
      #expect(script.hidden.allSatisfy { end...end + .milliseconds(700) ~= $0 } && script.hidden.count == 1)
    }
  }

  @Test(arguments: Array(stride(from: 0, to: 520, by: 13)))
  func `an answer that comes once a second is one request`(offset: Int) {
    let begin = Self.seconds(3) + .milliseconds(offset)
    var connection = ScriptedConnection(1, at: begin)
    connection.add(.sends(80), at: begin)
    for number in 0..<6 { connection.add(.receives(10_000), at: begin + .seconds(number) + .milliseconds(5)) }
    let end = begin + Self.seconds(5.005)
    var script = Self.script(.init(), connection)
    script.run(until: .seconds(20))
    #expect(script.shown.count == 1 && script.hidden.count == 1)
    #expect(script.shown.allSatisfy { begin + .milliseconds(980)...begin + .milliseconds(1_520) ~= $0 })
    #expect(script.hidden.allSatisfy { end...end + .milliseconds(1_500) ~= $0 })
  }

  @Test func `news that comes by itself is no request`() {
    var connection = ScriptedConnection(1, at: .seconds(1))
    connection.request(at: .seconds(1), answeredAfter: .milliseconds(50))
    for number in 1...40 { connection.add(.receives(1_500), at: .seconds(40) + .milliseconds(2_130 * number)) }
    var script = Self.script(.init(), connection)
    script.run(until: .seconds(150))
    #expect(script.shown.isEmpty)
  }

  @Test func `an upload counts from its beginning`() {
    var connection = ScriptedConnection(1, at: Self.seconds(2.05))
    connection.roundTrip = .milliseconds(30)
    for number in 0..<150 { connection.add(.sends(10_000), at: Self.seconds(2.05) + .milliseconds(20 * number)) }
    connection.add(.receives(300), at: Self.seconds(5.1))
    var script = Self.script(.init(), connection)
    script.run(until: .seconds(20))
    #expect(script.counts == [1, 0])
    #expect(script.shown.allSatisfy { Self.seconds(3.04)...Self.seconds(3.35) ~= $0 } && script.shown.count == 1)
  }

  // MARK: What is no request

  @Test func `a long poll counts for thirty seconds`() {
    var connection = ScriptedConnection(1, at: .seconds(1))
    connection.request(at: .seconds(1), answeredAfter: .seconds(300))
    var script = Self.script(.init(), connection)
    script.run(until: .seconds(200))
    #expect(script.counts == [1, 0])
    #expect(script.hidden.allSatisfy { .seconds(31)...Self.seconds(31.7) ~= $0 } && script.hidden.count == 1)
    // A long poll that has already waited longer than that when watching begins does not count at all.
    script = ConnectionScript()
    script.connections = [connection]
    script.run(until: .seconds(100))
    script.watch()
    script.run(until: .seconds(110))
    #expect(script.counts.isEmpty)
  }

  @Test func `what is not acknowledged counts as long as anybody may hope`() {
    var connection = ScriptedConnection(1, at: .seconds(1))
    connection.roundTrip = .seconds(1_000)
    connection.add(.sends(5_000), at: .seconds(2))
    // The data is sent again and again, so the age of the last sending says nothing.
    for second in stride(from: 3, to: 200, by: 5) { connection.add(.sends(0), at: .seconds(second)) }
    var script = Self.script(.init(), connection)
    script.run(until: .seconds(200))
    #expect(script.counts == [1, 0])
    #expect(script.hidden.allSatisfy { $0 <= Self.seconds(33) } && script.hidden.count == 1)
  }

  @Test func `pings on a socket that is kept open are no requests`() {
    var connection = ScriptedConnection(1, at: .seconds(1))
    connection.request(at: .seconds(1), answeredAfter: .milliseconds(50))
    for number in 1...20 {
      connection.add(.receives(2), at: .seconds(20 * number))
      connection.add(.sends(6), at: .seconds(20 * number) + .milliseconds(1))
      connection.add(.hears, at: .seconds(20 * number) + .milliseconds(42))
    }
    var script = Self.script(.init(), connection)
    script.run(until: .seconds(400))
    #expect(script.shown.isEmpty)
    #expect(script.counts.allSatisfy { $0 == 0 } || script.counts == [1, 0])
  }

  @Test(arguments: [20, 150], [300, 370, 450, 700])
  func `keys and echoes of a shell, at either end, are no requests`(echo: Int, interval: Int) {
    for isAccepted in [false, true] {
      var connection = ScriptedConnection(1, at: .seconds(1))
      connection.isAccepted = isAccepted
      connection.add(isAccepted ? .receives(2_000) : .sends(2_000), at: .seconds(1))
      connection.add(isAccepted ? .sends(2_000) : .receives(2_000), at: .seconds(1) + .milliseconds(100))
      for number in 1...40 {
        let key = Duration.seconds(3) + .milliseconds(interval * number)
        connection.add(isAccepted ? .receives(36) : .sends(36), at: key)
        connection.add(isAccepted ? .sends(36) : .receives(36), at: key + .milliseconds(echo))
      }
      // Short requests on another connection make the indicator decide, which brings scans shortly after others.
      var other = ScriptedConnection(2, at: .seconds(4))
      for number in 1...4 {
        other.request(at: .milliseconds(4_137 * number), answeredAfter: .milliseconds(300))
      }
      var script = Self.script(.init(), connection, other)
      script.run(until: .seconds(100))
      #expect(script.shown.isEmpty)
      #expect(script.machine.count == 0)
    }
  }

  @Test func `who serves is busy until he has answered`() {
    var connection = ScriptedConnection(1, at: .seconds(1))
    connection.isAccepted = true
    connection.add(.receives(500), at: .seconds(1))
    connection.add(.sends(500), at: .seconds(4))
    var script = Self.script(.init(), connection)
    script.run(until: .seconds(60))
    #expect(script.counts == [1, 0])
    #expect(script.hidden.allSatisfy { .seconds(4)...Self.seconds(4.7) ~= $0 } && script.hidden.count == 1)
  }

  @Test func `what nobody holds, or nobody answers any more, does not wait`() {
    var orphan = ConnectionFacts(cookie: 1, stage: .halfClosed)
    orphan.bytesSent = 100
    orphan.sentAge = 1_000_000_000
    var ended = ConnectionFacts(cookie: 2, stage: .ending)
    ended.inode = 7
    ended.bytesSent = 100
    ended.sentAge = 1_000_000_000
    var halfClosed = orphan
    halfClosed.inode = 8
    for (facts, count) in [(orphan, 0), (ended, 0), (halfClosed, 1)] {
      var machine = ConnectionActivity()
      _ = machine.handle(.watched, at: .seconds(9))
      machine.see(facts, at: 9_000_000_000)
      _ = machine.handle(.scanEnded(1, isWhole: true), at: .seconds(9))
      #expect(machine.count == count)
    }
  }

  @Test(arguments: [(60, 340), (900, 400)])
  func `a request that is cut off ends when the other side was last heard, or else now`(heard: Int64, end: Int) {
    var machine = ConnectionActivity()
    var facts = ConnectionFacts(cookie: 1, stage: .open)
    (facts.bytesSent, facts.sentAge, facts.heardAge) = (100, 500_000_000, 500_000_000)
    _ = machine.handle(.watched, at: .zero)
    machine.see(facts, at: 0)
    #expect(machine.handle(.scanEnded(1, isWhole: true), at: .zero).change?.count == 1)
    _ = machine.handle(.timerFired, at: .milliseconds(400))
    var last = ConnectionFacts(cookie: 1, stage: .ending)
    (last.bytesSent, last.sentAge, last.heardAge) = (100, 900_000_000, heard * 1_000_000)
    machine.see(last, at: 400_000_000)
    let change = machine.handle(.scanEnded(2, isWhole: true), at: .milliseconds(400)).change
    #expect(change == .init(count: 0, date: .milliseconds(end)))
  }

  @Test func `programs that do not count are asked about once`() {
    var first = ScriptedConnection(1, at: .seconds(1))
    first.request(at: .seconds(1), answeredAfter: .seconds(5))
    var second = ScriptedConnection(2, at: .seconds(2))
    second.request(at: .seconds(2), answeredAfter: .seconds(5))
    var script = ConnectionScript()
    script.connections = [first, second]
    script.ignored = [1]
    script.watch()
    script.run(until: .seconds(20))
    #expect(script.counts == [1, 0])
    #expect(script.shown.allSatisfy { Self.seconds(2.9)...Self.seconds(3.1) ~= $0 })
  }

  // MARK: When to scan

  @Test func `nothing is scanned while nobody watches`() {
    var script = ConnectionScript()
    script.run(until: .seconds(100))
    #expect(script.scans.isEmpty && script.machine.deadline == nil)
    script.watch()
    script.run(until: .seconds(103))
    #expect(script.scans.count >= 6)
    script.rest()
    let count = script.scans.count
    script.run(until: .seconds(200))
    #expect(script.scans.count == count && script.machine.deadline == nil)
  }

  @Test func `scans come half as often when nothing was in flight for a minute, and at once as often again`() {
    var connection = ScriptedConnection(1, at: .seconds(100))
    connection.request(at: .seconds(100), answeredAfter: .seconds(2))
    var script = Self.script(.init(), connection)
    script.run(until: .seconds(60))
    #expect(script.scans.count == 121)
    script.run(until: .seconds(100))
    #expect(161...163 ~= script.scans.count)
    script.run(until: .seconds(110))
    let gaps = zip(script.scans, script.scans.dropFirst()).map { $1 - $0 }
    #expect(gaps.suffix(14).allSatisfy { $0 <= .milliseconds(500) })
    #expect(script.shown.allSatisfy { $0 <= Self.seconds(101.05) } && script.shown.count == 1)
  }

  @Test func `when watching stops amid a scan, nothing is in flight any more`() {
    var machine = ConnectionActivity()
    #expect(machine.handle(.watched, at: .zero) == Effects(scan: 1))
    #expect(machine.handle(.watched, at: .zero) == Effects())
    var facts = ConnectionFacts(cookie: 1, stage: .connecting)
    facts.attemptAge = 0
    machine.see(facts, at: 0)
    let begun = machine.handle(.scanEnded(1, isWhole: true), at: .zero)
    #expect(begun == Effects(setsTimer: true, change: .init(count: 1, date: .zero)))
    #expect(machine.handle(.timerFired, at: .milliseconds(100)) == Effects())
    #expect(machine.handle(.timerFired, at: .milliseconds(400)) == Effects(scan: 2, setsTimer: true))
    let ended = machine.handle(.unwatched, at: .milliseconds(401))
    #expect(ended == Effects(change: .init(count: 0, date: .milliseconds(401))))
    #expect(machine.handle(.scanEnded(2, isWhole: true), at: .milliseconds(402)) == Effects())
    machine.see(facts, at: 0)
    #expect(machine.handle(.watched, at: .milliseconds(403)) == Effects(scan: 3))
    // The end of a scan that nobody waits for any more changes nothing.
    #expect(machine.handle(.scanEnded(2, isWhole: true), at: .milliseconds(404)) == Effects())
  }

  @Test func `the end of a connection that is told counts at once`() {
    var machine = ConnectionActivity()
    let facts = ConnectionFacts(cookie: 1, stage: .connecting)
    #expect(machine.end(facts, mayBeNew: true, at: .zero) == nil)
    _ = machine.handle(.watched, at: .zero)
    machine.see(facts, at: 0)
    machine.see(ConnectionFacts(cookie: 2, stage: .open), at: 0)
    _ = machine.handle(.scanEnded(1, isWhole: true), at: .zero)
    #expect(machine.count == 1)
    // This connection was open but not in flight, so its end changes nothing.
    #expect(machine.end(.init(cookie: 2, stage: .ending), mayBeNew: true, at: .milliseconds(1)) == nil)
    let change = machine.end(facts, mayBeNew: false, at: .milliseconds(5))
    #expect(change == .init(count: 0, date: .milliseconds(5)) && machine.count == 0)
    #expect(machine.end(facts, mayBeNew: false, at: .milliseconds(6)) == nil)
    _ = machine.handle(.timerFired, at: .milliseconds(400))
    #expect(machine.handle(.scanEnded(2, isWhole: true), at: .milliseconds(400)).change == nil)
    #expect(machine.count == 0)
  }

  @Test func `a connection that comes and goes between two scans is a request that has passed`() {
    var machine = ConnectionActivity()
    _ = machine.handle(.watched, at: .zero)
    _ = machine.handle(.scanEnded(1, isWhole: true), at: .zero)
    var facts = ConnectionFacts(cookie: 1, stage: .ending)
    // A connection on which nothing was sent is no request.
    #expect(machine.end(facts, mayBeNew: true, at: .milliseconds(100)) == nil)
    facts.bytesSent = 100
    facts.sentAge = 50_000_000
    #expect(machine.end(facts, mayBeNew: true, at: .milliseconds(100)) == .init(count: 0, date: .milliseconds(100)))
    #expect(machine.end(facts, mayBeNew: false, at: .milliseconds(100)) == nil)
    facts.sentAge = 5_000_000_000
    #expect(machine.end(facts, mayBeNew: true, at: .milliseconds(100)) == nil)
  }

  @Test func `a scan that is not whole ends nothing`() {
    var machine = ConnectionActivity()
    _ = machine.handle(.watched, at: .zero)
    machine.see(ConnectionFacts(cookie: 1, stage: .connecting), at: 0)
    _ = machine.handle(.scanEnded(1, isWhole: true), at: .zero)
    _ = machine.handle(.timerFired, at: .milliseconds(400))
    #expect(machine.handle(.scanEnded(2, isWhole: false), at: .milliseconds(400)).change == nil)
    #expect(machine.count == 1)
    _ = machine.handle(.timerFired, at: .milliseconds(800))
    #expect(machine.handle(.scanEnded(3, isWhole: true), at: .milliseconds(800)).change?.count == 0)
  }
}
