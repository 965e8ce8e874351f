import Netwatch
import NetwatchNetlink
import NetwatchStream
import NetwatchTestSupport
import Testing

@testable import NetwatchLines

/// The changeovers between this process and a service. A test plays both of them.
@Suite struct StatusMergerTests {
  /// A merger, and what it puts out in words: each record as `NUMBER EVENT REASON INTERFACE COUNT`, with `+` before new
  /// values of the last record.
  private struct Merger {
    var merger: StatusMerger
    private(set) var outputs: [String] = []
    private var time: Int64 = 0

    init(_ use: ServiceUse, signalChanges: WiFiReporting.SignalChanges? = nil) {
      merger = StatusMerger(use, signalChanges: signalChanges)
    }

    mutating func callAsFunction(_ input: StatusMerger.Input) -> [String] {
      time += 1_000_000
      var texts: [String] = []
      for output in merger.handle(input, at: EventTimestamp(monotonic: time, wall: 2 * time)) {
        switch output {
        case .record(let record): texts.append(Self.text(merger.sequence.append(record)))
        case .update(let record): texts.append("+" + Self.text(record))
        case .watch(let isOn): texts.append(isOn ? "watch" : "stop watching")
        case .count(let isOn): texts.append(isOn ? "count" : "stop counting")
        }
      }
      return texts
    }

    private static func text(_ record: EventRecord) -> String {
      let lost = record.lost.map { " -\($0.name)" } ?? ""
      return
        "\(record.sequence) \(record.event.rawValue) \(record.reason) \(record.path.interfaceName ?? "none")"
        + " \(record.activity.inFlight)\(lost)"
    }
  }

  private static func path(
    _ name: String?, _ reason: ReachabilityReason = .initial, signal: Int? = nil
  ) -> NetworkPath {
    var verdict = NetworkPath.Verdict(status: name == nil ? .notReachable : .wifi)
    if let name {
      verdict.medium = .wifi
      verdict.interfaceName = InterfaceName(name)
      verdict.ssid = SSID(Array("home".utf8))
      verdict.interfaceIndex = 2
    }
    let path = NetworkPath(verdict: verdict, reason: reason, interfaces: [])
    guard let signal else { return path }
    var connection = WiFiConnection()
    connection.signal = WiFiSignal(dBm: signal)
    return path.with(connection, reason: reason)
  }

  private static func record(
    _ event: EventRecord.Event, _ path: NetworkPath, _ count: Int = 0, number: UInt64 = 70,
    because reason: EventRecord.ActivityReason = .requestBegan
  ) -> EventRecord {
    var record = EventRecord(
      sequence: number, nanosecondsSince1970: 5, monotonicNanoseconds: 5, event: event, path: path)
    record.activity.inFlight = count
    record.activityReason = reason
    return record
  }

  private static func local(
    _ event: EventRecord.Event, _ path: NetworkPath, _ count: Int = 0,
    because reason: EventRecord.ActivityReason = .requestBegan
  ) -> StatusMerger.Input { .local(record(event, path, count, because: reason)) }

  private static func served(
    _ event: EventRecord.Event, _ path: NetworkPath, _ count: Int = 0, number: UInt64 = 70, here: Bool = true,
    because reason: EventRecord.ActivityReason = .requestBegan
  ) -> StatusMerger.Input {
    .service(record(event, path, count, number: number, because: reason), sharesNetwork: here)
  }

  // MARK: One origin

  @Test func `without a service, this process watches and counts, and its records pass as they are`() {
    var merger = Merger(.nothing)
    #expect(merger(.noService) == ["count", "watch"])
    #expect(merger(.counted(.init())) == [])
    #expect(merger(Self.local(.initial, Self.path("wl0"))) == ["1 initial initial wl0 0"])
    #expect(merger(Self.local(.activity, Self.path("wl0"), 1)) == ["2 activity request_began wl0 1"])
    #expect(
      merger(Self.local(.reachability, Self.path(nil, .noCarrier), 1))
        == ["3 reachability no_carrier none 1 -wl0"])
    #expect(
      merger(Self.local(.reachability, Self.path("eth0", .routeUp), 1)) == ["4 reachability route_up eth0 1 -wl0"])
    #expect(
      merger(Self.local(.interfaces, Self.path("eth0", .interfaceChanged), 1)) == [
        "5 interfaces interface_changed eth0 1"
      ])
  }

  @Test func `the records of a service keep their numbers, and the first one is the first`() {
    var merger = Merger(.everything)
    #expect(
      merger(Self.served(.reachability, Self.path("wl0", .routeUp), number: 70))
        == ["stop counting", "70 initial initial wl0 0"])
    #expect(
      merger(Self.served(.activity, Self.path("wl0", .routeUp), 1, number: 71))
        == ["71 activity request_began wl0 1"])
    // A record that says the same as the last one is not told again.
    #expect(merger(Self.served(.activity, Self.path("wl0", .routeUp), 1, number: 72)) == [])
    // The service left out the line between for a slow reader.
    #expect(
      merger(Self.served(.activity, Self.path("eth0", .routeUp), 1, number: 74))
        == ["74 reachability route_up eth0 1 -wl0"])
  }

  // MARK: Changeovers

  @Test func `an idle service comes and goes without a record`() {
    var merger = Merger(.everything)
    #expect(merger(.noService) == ["count", "watch"])
    _ = merger(Self.local(.initial, Self.path("wl0")))
    #expect(merger(Self.served(.initial, Self.path("wl0"))) == ["stop counting", "stop watching"])
    #expect(merger(.serviceLost) == ["count", "watch"])
    #expect(merger(.counted(.init())) == [])
    #expect(merger(Self.local(.initial, Self.path("wl0"))) == [])
    #expect(merger(Self.local(.reachability, Self.path(nil, .noCarrier))) == ["2 reachability no_carrier none 0 -wl0"])
  }

  @Test func `a service that knows more gives a record when it comes, and one when it goes`() {
    var merger = Merger(.everything)
    _ = merger(.noService)
    _ = merger(Self.local(.initial, Self.path("wl0")))
    #expect(
      merger(Self.served(.initial, Self.path("wl0"), 3, number: 9))
        == ["stop counting", "stop watching", "9 activity request_began wl0 3"])
    #expect(merger(.serviceLost) == ["count", "watch"])
    #expect(merger(.counted(.init())) == [])
    #expect(merger(Self.local(.initial, Self.path("wl0"))) == ["3 activity service_lost wl0 0"])
  }

  @Test func `a path that changes while nobody looks is told with the reason of a new look`() {
    var merger = Merger(.everything)
    _ = merger(Self.served(.initial, Self.path("wl0")))
    _ = merger(.serviceLost)
    #expect(merger(Self.local(.initial, Self.path("eth0"))) == ["2 reachability resynced eth0 0 -wl0"])
    #expect(
      merger(Self.served(.initial, Self.path(nil, .noCarrier), number: 4))
        == ["stop counting", "stop watching", "4 reachability no_carrier none 0 -eth0"])
  }

  @Test func `while netlink cannot be read yet, a service that comes takes over`() {
    var merger = Merger(.everything)
    _ = merger(Self.served(.initial, Self.path("wl0")))
    #expect(merger(.serviceLost) == ["count", "watch"])
    #expect(merger(Self.served(.initial, Self.path("wl0"))) == ["stop counting", "stop watching"])
    #expect(merger(.serviceLost) == ["count", "watch"])
    // The second loss in a row asks again.
    #expect(merger(.serviceLost) == ["count", "watch"])
  }

  @Test func `what comes late from the side that is not used is nothing`() {
    var merger = Merger(.everything)
    _ = merger(Self.served(.initial, Self.path("wl0")))
    #expect(merger(Self.local(.reachability, Self.path("eth0"))) == [])
    #expect(merger(.counted(.init())) == [])
  }

  // MARK: The activity alone

  @Test(arguments: [ServiceUse.activity, .everything])
  func `of a service with another judgement or network, the activity alone is used`(_ use: ServiceUse) {
    let here = use == .activity
    var merger = Merger(use)
    #expect(merger(Self.served(.initial, Self.path("eth9"), 2, here: here)) == ["stop counting", "watch"])
    #expect(merger(Self.local(.initial, Self.path("wl0"))) == ["1 initial initial wl0 2"])
    #expect(merger(Self.served(.reachability, Self.path("eth8"), 2, here: here)) == [])
    #expect(
      merger(Self.served(.activity, Self.path("eth8"), 1, here: here, because: .requestEnded))
        == ["2 activity request_ended wl0 1"])
    #expect(merger(Self.local(.activity, Self.path("wl0"), 8)) == [])
    #expect(merger(Self.local(.reachability, Self.path(nil, .noCarrier))) == ["3 reachability no_carrier none 1 -wl0"])
    #expect(merger(.serviceLost) == ["count"])
    var counted = EventRecord.Activity()
    counted.inFlight = 4
    #expect(merger(.counted(counted)) == ["4 activity service_lost none 4 -wl0"])
    #expect(
      merger(Self.local(.activity, Self.path(nil, .noCarrier), 5)) == ["5 activity request_began none 5 -wl0"])
  }

  // MARK: Rules

  @Test func `rules that a service does not know lead to netlink, and back without them`() {
    var merger = Merger(.everything)
    _ = merger(Self.served(.initial, Self.path("wl0"), 1))
    #expect(merger(.use(.activity)) == ["watch"])
    #expect(merger(Self.local(.initial, Self.path("eth0"))) == ["2 reachability rules_changed eth0 1 -wl0"])
    #expect(merger(Self.served(.initial, Self.path("wl0"), 1)) == [])
    #expect(merger(.use(.everything)) == [])
    #expect(
      merger(Self.served(.initial, Self.path("wl0"), 1, number: 8))
        == ["stop watching", "8 reachability rules_changed wl0 1 -eth0"])
    // Only one change has the new rules as its reason.
    #expect(
      merger(Self.served(.reachability, Self.path(nil, .noCarrier), 1, number: 9))
        == ["9 reachability no_carrier none 1 -wl0"])
  }

  // MARK: WiFi

  @Test func `new values of the WiFi network keep the number of the last record`() {
    var merger = Merger(.everything, signalChanges: .all)
    _ = merger(.noService)
    _ = merger(Self.local(.initial, Self.path("wl0", signal: -50)))
    #expect(
      merger(Self.local(.wifi, Self.path("wl0", .signalChanged, signal: -60))) == ["+1 wifi signal_changed wl0 0"])
    #expect(merger.merger.sequence.last?.path.wifi?.signal?.dBm == -60)
    // A service's values count only while the service is the origin, only for the path that was told, and not as the
    // answer to a request.
    #expect(merger(Self.served(.wifi, Self.path("wl0", .signalChanged, signal: -70))) == [])
    _ = merger(Self.served(.initial, Self.path("wl0")))
    #expect(
      merger(Self.served(.wifi, Self.path("wl0", .signalChanged, signal: -70))) == ["+1 wifi signal_changed wl0 0"])
    #expect(merger(Self.served(.wifi, Self.path("wl1", .signalChanged, signal: -70))) == [])
    #expect(merger(Self.served(.wifi, Self.path("wl0", .initial, signal: -70))) == [])
    // If this process looks at the network itself and finds only another signal, that is told as new values.
    _ = merger(.serviceLost)
    #expect(
      merger(Self.local(.initial, Self.path("wl0", signal: -80))) == ["+1 wifi signal_changed wl0 0"])
  }

  @Test func `new values of the WiFi network have the time at which they were read`() {
    var merger = StatusMerger(.everything, signalChanges: .all)
    let now = EventTimestamp(monotonic: 1_000, wall: 2_000)
    func times(_ input: StatusMerger.Input) -> [Int64] {
      merger.handle(input, at: now).flatMap { output -> [Int64] in
        switch output {
        case .record(let record): _ = merger.sequence.append(record)
        case .update(let record): return [record.monotonicNanoseconds, record.nanosecondsSince1970]
        case .watch, .count: break
        }
        return []
      }
    }
    _ = times(.noService)
    _ = times(Self.local(.initial, Self.path("wl0", signal: -50)))
    #expect(times(Self.local(.wifi, Self.path("wl0", .signalChanged, signal: -60))) == [5, 5])
    _ = times(Self.served(.initial, Self.path("wl0")))
    #expect(times(Self.served(.wifi, Self.path("wl0", .signalChanged, signal: -70))) == [5, 5])
    _ = times(.serviceLost)
    #expect(times(Self.local(.initial, Self.path("wl0", signal: -80))) == [5, 5])
  }

  // MARK: Any order

  @Test func `whatever comes in whatever order, each record differs from the one before`() {
    var random = SplitMix(seed: 5)
    for _ in 0..<2_000 {
      var merger = StatusMerger([.nothing, .activity, .everything].randomElement(using: &random) ?? .nothing)
      var former: EventRecord?
      var isWatching = false
      for step in 0..<60 {
        let path = Self.path(["wl0", "eth0", nil].randomElement(using: &random) ?? nil)
        let count = Int.random(in: 0..<3, using: &random)
        let input: StatusMerger.Input =
          switch Int.random(in: 0..<7, using: &random) {
          case 0 where former == nil: .noService
          case 0, 1: .serviceLost
          case 2, 3: Self.served(.reachability, path, count, here: .random(using: &random))
          case 4: .use([.activity, .everything].randomElement(using: &random) ?? .activity)
          case 5: Self.served(.activity, path, count, here: .random(using: &random))
          default: Self.local(.initial, path, count)
          }
        // This process reports nothing while it was not asked to watch.
        if case .local = input, !isWatching { continue }
        for output in merger.handle(input, at: EventTimestamp(monotonic: Int64(step), wall: Int64(step))) {
          switch output {
          case .watch(let isOn): isWatching = isOn
          case .record(let record):
            let told = merger.sequence.append(record)
            if let former {
              #expect(!told.path.saysTheSame(as: former.path) || told.activity != former.activity)
              #expect(told.event != .initial)
            } else {
              #expect(told.event == .initial)
            }
            former = told
          case .update, .count: break
          }
        }
      }
    }
  }
}
