import Netwatch
@testable import NetwatchLog
import Testing

/// Which outages there were, and how long they lasted.
@Suite struct LogHistoryTests {
  private static let up = LogState(status: .wifi, reason: "route_up", medium: .wired, interface: "eth0")
  private static let down = LogState(status: .notReachable, reason: "no_carrier")
  private static let other = LogState(status: .notReachable, reason: "no_route")
  private static let unknown = LogState(status: .unknown, reason: "unresolved")
  /// The time at which the runs of these tests begin, in seconds since 1970.
  private static let epoch: Int64 = 1_795_000_000

  /// Returns a moment.
  ///
  /// - Parameters:
  ///   - second: The time on the monotonic clock, in seconds.
  ///   - wall: How far the wall clock is ahead of the expected time, in seconds. Default: 0.
  ///   - suspended: How long the machine has been suspended, in seconds. Default: 0.
  private static func moment(_ second: Double, wall: Double = 0, suspended: Double = 0) -> LogMoment {
    let monotonic = Int64((second * 1_000_000).rounded())
    return LogMoment(
      wall: epoch * 1_000_000 + monotonic + Int64(wall * 1_000_000), monotonic: monotonic,
      boot: monotonic + Int64(suspended * 1_000_000))
  }

  private static func change(_ second: Double, _ state: LogState, wall: Double = 0, count: Int64 = 1) -> LogEntry {
    LogEntry(moment(second, wall: wall), .change(state, count: count))
  }

  private static func history(
    _ entries: [LogEntry], seen: Double? = nil, isLive: Bool = false, now: Double = 1_000
  ) -> LogHistory {
    let last = moment(seen ?? entries.last.map { Double($0.moment.monotonic) / 1_000_000 } ?? 0)
    return LogHistory(
      entries.map { (1, $0) },
      runs: [LogRun(id: 1, seen: last.wall, seenMonotonic: last.monotonic, isLive: isLive)], now: moment(now))
  }

  /// A file may contain any numbers. The sum of 2,010 of these changes does not fit into 63 bits.
  @Test func `times that do not fit become the longest that do`() {
    let (first, last) = (LogMoment(wall: 0, monotonic: 0, boot: 0), LogMoment(wall: .max, monotonic: .max, boot: .max))
    let entries = (0..<2_010).map { number in
      number.isMultiple(of: 2)
        ? LogEntry(first, .change(Self.down, count: 1)) : LogEntry(last, .change(Self.unknown, count: 1))
    }
    let history = LogHistory(entries.map { (1, $0) }, runs: [], now: first)
    #expect(history.outages.map(\.length) == [.max])
    #expect(history.outages.map(\.end) == [.max])
    #expect(LogTimes(history.spans).notReachable == .max)
    // Each span covers every day, and a year of such spans would need gigabytes. The last day is not complete.
    let days = DaySummary.days(of: history, limit: 366)
    #expect(days.count == 366)
    #expect(days.allSatisfy { $0.spans.count <= 3 })
  }

  @Test func `a carrier that was back before anybody saw it is an outage too short to measure`() {
    func flap(_ second: Double, _ state: LogState, _ losses: Int64) -> LogEntry {
      LogEntry(Self.moment(second), .change(state, count: 1, carrierLosses: losses))
    }
    let other = LogState(status: .wifi, reason: "interface_changed", medium: .wired, interface: "eth1")
    let outages = Self.history([
      Self.change(1, Self.up), flap(2, Self.up, 3), flap(5, Self.down, 1), flap(6, Self.up, 4), flap(7, other, 1),
      flap(8, Self.down, 2),
    ]).outages
    // Another link that takes over at once is no outage.
    #expect(outages.map(\.carrierLosses) == [3, 5, 2])
    #expect(outages.map(\.length) == [0, 1_000_000, 0])
    #expect(outages[0].lost == Self.up && outages[0].reason == "no_carrier")
    let text = LogText(isUnicode: false)
    #expect(text.line(outages[0]).hasSuffix(#"  - too short to measure  "eth0", no carrier, carrier lost 3 times"#))
    #expect(text.line(outages[1]).hasSuffix(#"  - 1.0 s  "eth0", no carrier, carrier lost 5 times"#))
    #expect(text.line(flap(2, Self.up, 1)).hasSuffix("eth0          route up, carrier lost 1 time"))
    #expect(text.line(flap(2, Self.down, 1)).hasSuffix("no carrier"))
  }

  @Test func `a clock that was wrong for a while hides no later run`() {
    let decade = 315_360_000.0
    let entries: [(Int64, LogEntry)] = [
      (1, Self.change(0, Self.up, wall: decade)), (1, Self.change(5, Self.down)), (1, Self.change(10, Self.up)),
      (20, Self.change(15, Self.up)), (20, Self.change(30, Self.down)), (20, Self.change(40, Self.up)),
    ]
    let runs = [Int64(1), 20].map { id in
      let end = Self.moment(id == 1 ? 20 : 50)
      return LogRun(id: id, seen: end.wall, seenMonotonic: end.monotonic, isLive: false)
    }
    let times = LogTimes(LogHistory(entries, runs: runs, now: Self.moment(60)).spans)
    #expect((times.reachable, times.notReachable) == (35_000_000, 15_000_000))
  }

  @Test func `an outage of 50 ms has its beginning, its length, its reason and what was lost`() {
    let history = Self.history([
      Self.change(1, Self.up), Self.change(2, Self.down), Self.change(2.05, Self.up), Self.change(3, Self.up),
    ])
    #expect(
      history.outages == [
        Outage(
          began: Self.moment(2).wall, length: 50_000, reason: "no_carrier", lost: Self.up, isBeginningSeen: true,
          ending: .seen)
      ])
  }

  @Test func `another reason does not begin another outage`() {
    let history = Self.history([
      Self.change(1, Self.up), Self.change(2, Self.down), Self.change(3, Self.other), Self.change(5, Self.up),
    ])
    #expect(history.outages.map(\.length) == [3_000_000])
    #expect(history.outages.map(\.reason) == ["no_carrier"])
  }

  @Test func `a clock that is set makes an outage neither longer nor shorter`() {
    for step in [-7_200.0, 7_200] {
      let history = Self.history([
        Self.change(1, Self.up), Self.change(10, Self.down), Self.change(20, Self.up, wall: step),
        Self.change(25, Self.down, wall: step), Self.change(26, Self.up, wall: step),
      ])
      #expect(history.outages.map(\.length).sorted() == [1_000_000, 10_000_000])
    }
  }

  @Test func `a suspend is no outage, and is shown`() {
    let awake = LogEntry(Self.moment(12, wall: 3_600, suspended: 3_600), .suspend(3_600_000_000))
    let history = Self.history([
      Self.change(1, Self.up), Self.change(10, Self.down), awake, Self.change(15, Self.up, wall: 3_600),
    ])
    // The outage lasted from 10 s to 15 s on the monotonic clock, which stands still during a suspend.
    #expect(history.outages.map(\.length) == [5_000_000])
    let asleep = history.spans.filter { $0.content == .suspended }
    #expect(asleep.map(\.length) == [3_600_000_000])
    #expect(asleep.map(\.began) == [Self.moment(12).wall])
    #expect(history.spans.map(\.length).reduce(0, +) == 14_000_000 + 3_600_000_000)
  }

  @Test func `the end that nobody saw is told, and the time until the writer was seen last`() {
    let entries = [Self.change(1, Self.up), Self.change(10, Self.down)]
    let killed = Self.history(entries, seen: 310)
    #expect(killed.outages.map(\.ending) == [.unseen])
    #expect(killed.outages.map(\.length) == [300_000_000])
    let live = Self.history(entries, seen: 310, isLive: true, now: 400)
    #expect(live.outages.map(\.ending) == [.ongoing])
    #expect(live.outages.map(\.length) == [390_000_000])
  }

  @Test func `what began before anybody watched says so`() {
    let history = Self.history([Self.change(1, Self.down), Self.change(3, Self.up)])
    #expect(history.outages.map(\.isBeginningSeen) == [false])
    #expect(history.outages.map(\.lost) == [nil])
    #expect(history.outages.map(\.ending) == [.seen])
  }

  @Test func `the time within merged changes belongs to no span`() {
    let history = Self.history([
      Self.change(1, Self.up), Self.change(2, Self.down), Self.change(3, Self.other),
      Self.change(60, Self.up, count: 40), Self.change(70, Self.up),
    ])
    #expect(history.outages.map(\.ending) == [.unseen])
    #expect(history.outages.map(\.length) == [1_000_000])
    // The time from 3 s to 60 s does not count.
    #expect(history.spans.map(\.length) == [1_000_000, 1_000_000, 10_000_000])
  }

  @Test func `while the status is unknown, an outage neither begins nor ends, and the time does not count`() {
    let history = Self.history([
      Self.change(1, Self.up), Self.change(2, Self.unknown), Self.change(5, Self.down), Self.change(6, Self.unknown),
      Self.change(9, Self.down), Self.change(11, Self.up), Self.change(12, Self.unknown), Self.change(13, Self.up),
    ])
    #expect(history.outages.map(\.ending) == [.seen])
    #expect(history.outages.map(\.isBeginningSeen) == [false])
    #expect(history.outages.map(\.length) == [3_000_000])
  }

  @Test func `an outage that two writers have seen counts once`() {
    let first = [Self.change(1, Self.up), Self.change(10, Self.down)]
    let second = [
      Self.change(5, Self.up), Self.change(10.001, Self.down), Self.change(30, Self.up), Self.change(40, Self.up),
    ]
    let runs = [(1, 12.0), (2, 40.0)].map { id, seen in
      LogRun(id: id, seen: Self.moment(seen).wall, seenMonotonic: Self.moment(seen).monotonic, isLive: false)
    }
    let history = LogHistory(first.map { (1, $0) } + second.map { (2, $0) }, runs: runs, now: Self.moment(50))
    #expect(history.outages.map(\.length) == [20_000_000])
    #expect(history.outages.map(\.ending) == [.seen])
    #expect(history.spans.map(\.length).reduce(0, +) == 39_000_000)
  }

  @Test func `since keeps what had not ended at that moment`() {
    let all = Self.history([
      Self.change(1, Self.up), Self.change(10, Self.down), Self.change(20, Self.up), Self.change(30, Self.down),
      Self.change(40, Self.up), Self.change(50, Self.up),
    ])
    let late = all.since(Self.moment(35).wall)
    #expect(late.outages.map(\.began) == [Self.moment(30).wall])
    #expect(late.spans.map(\.length).reduce(0, +) == 15_000_000)
  }

  @Test func `each day has its part of what goes on at midnight`() throws {
    let start = LocalTime(Self.epoch * 1_000_000).startOfDay(later: 1)
    func entry(_ second: Int64, _ state: LogState) -> LogEntry {
      LogEntry(
        LogMoment(wall: start + second * 1_000_000, monotonic: (second + 90_000) * 1_000_000, boot: 0),
        .change(state, count: 1))
    }
    let history = Self.history([
      entry(-7_200, Self.up), entry(-600, Self.down), entry(1_200, Self.up), entry(3_600, Self.up),
    ])
    let days = DaySummary.days(of: history, limit: 10)
    #expect(days.map(\.times.notReachable) == [600_000_000, 1_200_000_000])
    #expect(days.map(\.times.reachable) == [6_600_000_000, 2_400_000_000])
    #expect(days.map(\.outages) == [1, 0])
    #expect(days.map(\.networks) == [["eth0": 6_600_000_000], ["eth0": 2_400_000_000]])
    #expect(try #require(days.first?.times.availability) == 11.0 / 12)
    #expect(DaySummary.days(of: history, limit: 1).map(\.outages) == [0])
  }

  @Test func `no numbers of a damaged log can harm the reader`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<500 {
      let entries: [(run: Int64, entry: LogEntry)] = (0..<20).map { _ in
        func number() -> Int64 {
          [0, 1, -1, .max, .min, Int64.random(in: .min ... .max, using: &generator)].randomElement() ?? 0
        }
        let moment = LogMoment(wall: number(), monotonic: number(), boot: number())
        let state = [Self.up, Self.down, Self.unknown].randomElement() ?? Self.up
        let content = Bool.random() ? LogEntry.Content.change(state, count: number()) : .suspend(max(number(), 0))
        return (Int64.random(in: 1...3), LogEntry(moment, content))
      }
      let history = LogHistory(
        entries, runs: [LogRun(id: 1, seen: .max, seenMonotonic: .max, isLive: true)], now: Self.moment(9))
      let page = HTMLReport(history.since(0), traffic: [], now: .max).text
      #expect(!page.isEmpty)
      _ = LogText(isUnicode: true).summary(history)
    }
  }
}
