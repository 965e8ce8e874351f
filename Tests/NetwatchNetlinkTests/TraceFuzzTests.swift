import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// Traces with any content: each one is read to its end or refused, nothing traps, and no more paths are published than
/// there are lines.
@Suite struct TraceFuzzTests {
  @Test(arguments: [UInt64(21), 22])
  func `a mutated trace does no harm`(_ seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let recorded = try TraceFile.recorded("cable-pulled.trace").split(separator: UInt8(ascii: "\n")).map { Array($0) }
    let small = SmallTrace.lines.map { Array($0.utf8) }
    var refused = 0
    let rounds = FuzzRounds.count(default: 1_000) / 2
    for round in 0..<rounds {
      var lines = random.oneIn(4) ? recorded : small
      for _ in 0..<Int.random(in: 1...4, using: &random) { mutate(&lines, &random) }
      var configuration = MonitorConfiguration()
      if random.oneIn(2) { configuration.hold = .milliseconds(200) }
      let bytes = Array(lines.joined(separator: [UInt8(ascii: "\n")])) + (random.oneIn(9) ? [] : [UInt8(ascii: "\n")])
      configuration.wifi.signal = random.oneIn(2) ? .steps : nil
      let replay = try Replay(bytes, configuration, samples: !random.oneIn(3))
      if replay.fault != nil || replay.failure != nil { refused += 1 }
      guard replay.told.count <= lines.count, replay.fault.map({ $0.line <= lines.count + 1 }) ?? true else {
        Issue.record("seed \(seed), round \(round): \(replay)")
        return
      }
    }
    #expect(refused > rounds / 4 && refused < rounds)
  }

  /// A record of each kind that a trace can have. ``TraceFormat`` describes them.
  static let kinds =
    NetlinkTransport.Channel.allCases.flatMap { channel in
      ["end", "overrun", "00"].map { "\(channel.rawValue) \($0)" } + ["turn 5 5 \(channel.rawValue)"]
        + NetlinkTransport.Call.allCases.map { "\(channel.rawValue) failed \($0.rawValue) 5" }
    }
    + ReachabilityMachine.Timer.allCases.map { "timer 5 5 \($0.name)" }
    + [
      "start 5 5", "resumed 5 5", "unresolved 5 5", "resolved 5 5", "resolved 5 5 10.0.0.1 fd00::1", "sampling 5 5 5",
      "signal 5 5", "quality 5 5 5", "leases 5 5", "tcp 1 2 3 4 5 6 7", "tcp end", "tcp cut", "device 3 wireless",
      "device 3 wireless rfkill=soft",
      "device 4 type=a%20b", "lease 3 10.0.0.1", "namespaces users", "namespaces network", "set a b",
      "found 5 5 cable_changed", "news uplink_changed", #"findings {"uplinks": []}"#,
    ]

  @Test func `every kind of record is among those that the fuzzer writes`() {
    let parsed = Self.kinds.compactMap { TraceFormat.record(Array($0.utf8)[...]) }
    // The setting is the only line that is not a record.
    #expect(parsed.count == Self.kinds.count - 1)
    var names: Set<String> = []
    for record in parsed {
      switch record {
      case .cause(let cause, _): names.insert("\(cause.kind)")
      case .datagram: names.insert("datagram")
      case .overrun: names.insert("overrun")
      case .end: names.insert("end")
      case .failed: names.insert("failed")
      case .device: names.insert("device")
      case .meteredLease: names.insert("lease")
      case .news: names.insert("news")
      case .findings: names.insert("findings")
      case .namespaces: names.insert("namespaces")
      case .connection: names.insert("connection")
      case .connectionsEnd: names.insert("connectionsEnd")
      }
    }
    // There are eleven causes and eleven other kinds. The `switch` above does not compile if a kind is added.
    #expect(names.count == 22)
  }

  private func mutate(_ lines: inout [[UInt8]], _ random: inout SplitMix) {
    guard !lines.isEmpty else { return }
    // The first line is rarely changed, because nothing is read without it.
    let place = random.oneIn(50) ? 0 : Int.random(in: 0..<lines.count, using: &random)
    let other = Int.random(in: 0..<lines.count, using: &random)
    switch Int.random(in: 0..<10, using: &random) {
    case 0: lines.swapAt(place, other)
    case 1: lines.remove(at: place)
    case 2: lines.insert(lines[place], at: other)
    case 3: lines.removeSubrange(place...)
    case 4: lines.insert(contentsOf: lines[min(place, other)...max(place, other)], at: place)
    case 5:
      let kind = Array(Self.kinds[Int.random(in: 0..<Self.kinds.count, using: &random)].utf8)
      // A record of a cause does no harm only between two turns, and a replaced line is rarely between turns.
      if random.oneIn(2) { lines[place] = kind } else { lines.insert(kind, at: random.oneIn(2) ? lines.count : place) }
    case 6:
      if !lines[place].isEmpty {
        lines[place][Int.random(in: 0..<lines[place].count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
      }
    default: changeDatagram(&lines[place], &random)
    }
  }

  /// Changes a datagram, but not the number of its question, because the rest is read only if the number is right.
  private func changeDatagram(_ line: inout [UInt8], _ random: inout SplitMix) {
    let words = line.split(separator: UInt8(ascii: " "))
    guard words.count == 2, words[1].count >= 32 else { return }
    let old = Corpus.bytes(String(decoding: words[1], as: UTF8.self))
    var new = Mutation.message(from: random.oneIn(2) ? [old] : Corpus.all, &random)
    if new.count >= 16, old.count >= 16 { new.replaceSubrange(8..<12, with: old[8..<12]) }
    line = Array("\(String(decoding: words[0], as: UTF8.self)) \(SmallTrace.hex(new))".utf8)
  }
}
