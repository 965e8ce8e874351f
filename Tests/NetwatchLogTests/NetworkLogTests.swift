import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchLog

/// The outages of a log as a sequence.
@Suite(.timeLimit(.minutes(1))) struct NetworkLogTests {
  /// A change at this second, by all clocks. The path goes over eth0, or is lost.
  private static func change(_ second: Int64, isReachable: Bool) -> LogEntry {
    let moment = LogMoment(
      wall: 1_795_000_000_000_000 + second * 1_000_000, monotonic: second * 1_000_000, boot: second * 1_000_000)
    let state =
      isReachable
      ? LogState(status: .wifi, reason: "route_up", medium: .wired, interface: "eth0")
      : LogState(status: .notReachable, reason: "no_carrier")
    return LogEntry(moment, .change(state, count: 1))
  }

  @Test func `the outages of the log come in order, then each new one and its end`() async throws {
    let folder = try TemporaryFolder()
    let place = LogPlace(folder: folder.file("netwatch"))
    let store = try LogStore.open(place).store
    try store.append([
      Self.change(0, isReachable: true), Self.change(10, isReachable: false), Self.change(22, isReachable: true),
    ])
    var outages = try NetworkLog(path: place.file).outages().makeAsyncIterator()
    let first = try #require(try await outages.next())
    #expect(first.nanosecondsSince1970 == 1_795_000_010_000_000_000)
    #expect(first.duration == .seconds(12))
    #expect((first.reason, first.ending, first.lostInterface?.name) == ("no_carrier", .seen, "eth0"))
    #expect("\(first)".hasSuffix("Z: 12.0 seconds, no carrier, wired eth0"))

    try store.append([Self.change(30, isReachable: false)])
    let second = try #require(try await outages.next())
    #expect((second.nanosecondsSince1970, second.ending) == (1_795_000_030_000_000_000, .ongoing))
    try store.append([Self.change(35, isReachable: true)])
    let end = try #require(try await outages.next())
    #expect((end.nanosecondsSince1970, end.ending, end.duration) == (1_795_000_030_000_000_000, .seen, .seconds(5)))
  }

  @Test func `only outages since a time come`() async throws {
    let folder = try TemporaryFolder()
    let place = LogPlace(folder: folder.file("netwatch"))
    let store = try LogStore.open(place).store
    for second in stride(from: Int64(0), to: 60, by: 20) {
      try store.append([Self.change(second, isReachable: false), Self.change(second + 10, isReachable: true)])
    }
    var outages = try NetworkLog(path: place.file).outages(since: 1_795_000_035_000_000_000).makeAsyncIterator()
    #expect(try await outages.next()?.nanosecondsSince1970 == 1_795_000_040_000_000_000)
  }

  @Test func `without a log the sequence throws one sentence`() async throws {
    let folder = try TemporaryFolder()
    var outages = try NetworkLog(path: folder.file("log.sqlite")).outages().makeAsyncIterator()
    let error = await #expect(throws: NetworkLogError.self) { try await outages.next() }
    #expect(error?.description.hasPrefix("there is no log at") == true)
  }
}
