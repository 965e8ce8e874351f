import Netwatch
import NetwatchLog
import NetwatchStream
import NetwatchTestSupport
import Testing

/// What the log stores, and what it leaves out.
@Suite struct LogMachineTests {
  /// Returns a line as netwatch writes it for the log.
  private static func line(
    _ event: String = "reachability", status: String = "not-reachable", reason: String = "no_carrier",
    mono: Int = 5_000,
    log: String? = nil, more: String = ""
  ) -> [UInt8] {
    let path =
      status == "not-reachable"
      ? #""medium":null,"interface":null,"index":null,"expensive":null,"vpn":null,"ipv4":null,"ipv6":null,"wifi":null"#
      : #""medium":"wifi","interface":"wlan0","index":3,"expensive":true,"vpn":{"interface":"wg0","kind":"wireguard"},"#
        + #""ipv4":null,"ipv6":null,"wifi":{"ssid":"Home","ssid_hex":"486f6d65","signal_dbm":null,"signal_percent":null}"#
    let extra = log.map { #","log":{\#($0)}"# } ?? ""
    return Array(
      (#"{"v":1,"seq":1,"time":"2026-11-21T02:15:00.123456Z","mono_ns":\#(mono)000,"event":"\#(event)","#
        + #""reason":"\#(reason)","reachability":{"status":"\#(status)",\#(path)},"activity":{"state":"inactive","#
        + #""visible":false,"in_flight":0}\#(more)\#(extra)}"#).utf8)
  }

  private static let now = LogMoment(wall: 0, monotonic: 10_000_000, boot: 12_000_000)

  private func entries(_ lines: [UInt8]...) -> [LogEntry] {
    var machine = LogMachine()
    return lines.flatMap { LogLine($0[...], now: Self.now).map { machine.handle(.line($0)) } ?? [] }
  }

  @Test func `a change has what the log stores of a path`() throws {
    let entry = try #require(
      entries(Self.line(status: "wifi", reason: "route_up", log: #""boot_ns":7000000,"changes":3"#)).first)
    #expect(entry.moment == LogMoment(wall: 1_795_227_300_123_456, monotonic: 5_000, boot: 7_000))
    let state = LogState(
      status: .wifi, reason: "route_up", medium: .wifi, interface: "wlan0", ssid: SSID(Array("Home".utf8)),
      isExpensive: true, vpn: "wg0")
    #expect(entry.content == .change(state, count: 3))
  }

  @Test func `a line without the clock of the log takes the suspended time of now`() throws {
    #expect(try #require(entries(Self.line()).first).moment.boot == 2_005_000)
  }

  @Test(arguments: ["activity", "interfaces", "wifi", "quality", "stages", "nonsense"])
  func `what says nothing of the path is left out`(event: String) {
    #expect(entries(Self.line(event)).isEmpty)
  }

  @Test func `a suspend is told once, before the change that shows it`() {
    let found = entries(
      Self.line(mono: 1_000_000, log: #""boot_ns":1000000000"#),
      Self.line(mono: 2_000_000, log: #""boot_ns":3602000000000"#),
      // This line was written before the suspend, and read after it.
      Self.line(mono: 1_500_000, log: #""boot_ns":1500000000"#),
      Self.line(mono: 3_000_000, log: #""boot_ns":3603000000000"#))
    #expect(found.map(\.content).filter { if case .suspend = $0 { true } else { false } } == [.suspend(3_600_000_000)])
    #expect(found[1].content == .suspend(3_600_000_000))
  }

  @Test func `a suspend that changes no path is told when the machine awakes`() {
    var machine = LogMachine()
    #expect(machine.handle(.clock(LogMoment(wall: 100, monotonic: 10, boot: 10))) == [])
    // Two readings of two clocks are never simultaneous, so a small difference is not a suspend.
    #expect(machine.handle(.clock(LogMoment(wall: 100, monotonic: 20, boot: 90_000))) == [])
    let awake = LogMoment(wall: 9_000_000, monotonic: 30, boot: 5_000_030)
    #expect(machine.handle(.clock(awake)) == [LogEntry(awake, .suspend(5_000_000 - 89_980))])
    #expect(machine.handle(.clock(awake)) == [])
  }

  @Test func `carrier losses are what the kernel has counted since the line before, of the same link`() {
    var machine = LogMachine()
    func losses(_ event: String, _ index: Int, _ count: Int) -> [Int64] {
      let line = Self.line(
        event, status: "wifi", more: #","log":{"boot_ns":1,"carrier":\#(index),"carrier_losses":\#(count),"changes":1}"#
      )
      return LogLine(line[...], now: Self.now).map { machine.handle(.line($0)) }?.compactMap { entry in
        if case .change(_, _, let losses) = entry.content { losses } else { nil }
      } ?? [-1]
    }
    #expect(losses("reachability", 3, 7) == [0])
    #expect(losses("reachability", 3, 9) == [2])
    #expect(losses("interfaces", 3, 9) == [])
    #expect(losses("interfaces", 3, 10) == [1])
    #expect(losses("reachability", 4, 90) == [0])
    #expect(losses("reachability", 4, 1) == [0])
    #expect(losses("interfaces", 4, 2) == [1])
  }

  @Test func `days add up to months, and links stay apart`() {
    let days = [
      TrafficTally.Sum(day: 20_261_031, interface: "wlan0", received: 1_000, sent: 10),
      TrafficTally.Sum(day: 20_261_101, interface: "wlan0", received: 2_000, sent: 20),
      TrafficTally.Sum(day: 20_261_130, interface: "wlan0", received: .max, sent: 40),
      TrafficTally.Sum(day: 20_261_130, interface: "eth0", received: 5, sent: 6),
    ]
    let text = LogText(isUnicode: false)
    #expect(
      PeriodTraffic.sums(of: days, byMonth: true).map(text.line) == [
        "2026-10  wlan0             1.0 kB received     10 B sent",
        "2026-11  eth0                 5 B received      6 B sent",
        "2026-11  wlan0             9.2 EB received     60 B sent",
      ])
    let sums = PeriodTraffic.sums(of: Array(days.dropLast()), byMonth: false)
    #expect(sums.map(\.name) == ["2026-10-31", "2026-11-01", "2026-11-30"])
    #expect(text.summary(sums) == "9.2 EB received, 70 B sent")
    #expect(text.summary([] as [PeriodTraffic]).hasPrefix("No bytes were counted in this time"))
  }

  @Test func `bytes are what counters have grown by`() {
    var machine = LogMachine()
    func traffic(_ received: Int, _ sent: Int, _ name: String = "wlan0") {
      let figures =
        #","traffic":{"interface":"\#(name)","rx_bytes":\#(received),"tx_bytes":\#(sent),"rx_bps":null,"tx_bps":null}"#
      let line = LogLine(Self.line("traffic", status: "wifi", more: figures)[...], now: Self.now)
      if let line { #expect(machine.handle(.line(line)) == []) }
    }
    traffic(1_000, 100)
    traffic(1_500, 160)
    traffic(1_500, 160)
    #expect(machine.takeTraffic().map { [$0.received, $0.sent] } == [[500, 60]])
    // The driver was loaded again, so the counters began again.
    traffic(40, 5)
    #expect(machine.takeTraffic().map { [$0.received, $0.sent] } == [[40, 5]])
    #expect(machine.takeTraffic().isEmpty)
  }

  /// `NETWATCH_FUZZ_ROUNDS` sets the number of random lines.
  @Test func `no line can harm the reader of lines`() {
    var generator = SplitMix(seed: 22)
    let good = [
      Self.line(status: "wifi", log: #""boot_ns":7000000,"changes":3"#),
      Self.line(
        "traffic", status: "wifi",
        more: #","traffic":{"interface":"w","rx_bytes":1,"tx_bytes":1,"rx_bps":null,"tx_bps":null}"#),
    ]
    var machine = LogMachine()
    for _ in 0..<FuzzRounds.count(default: 2_000) {
      var line = good[Int.random(in: 0..<2, using: &generator)]
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let place = Int.random(in: 0..<line.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: line[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: line.removeSubrange(place..<min(line.count, place + 5))
        case 2: line.insert(contentsOf: Array("99999999999999999999".utf8), at: place)
        default: line.insert(UInt8.random(in: 48...57, using: &generator), at: place)
        }
        if line.isEmpty { line = [0] }
      }
      if let line = LogLine(line[...], now: Self.now) { _ = machine.handle(.line(line)) }
      _ = machine.takeTraffic()
    }
  }
}
