import CLibNetlink
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// Errors that the kernel sends instead of an answer, and what they mean.
@Suite struct RefusalTests {
  /// The lines of the small trace up to the first question about a route, which has the number 3.
  static let listed = Array(SmallTrace.lines.prefix { $0 != SmallTrace.route(3) })
  /// Returns refusals of the questions from `first` on. There are more of them than questions.
  static func refusals(from first: UInt32, _ code: Int32) -> [String] {
    (first..<first + 12).map { SmallTrace.refusal($0, code) }
  }

  @Test(arguments: [
    (ENETUNREACH, "no_route"), (EOPNOTSUPP, "no_route"), (EAFNOSUPPORT, "no_route"), (ENODEV, "no_route"),
    (EHOSTUNREACH, "route_unreachable"), (EACCES, "route_unreachable"), (EINVAL, "route_unreachable"),
    (EPERM, "route_unreachable"),
  ])
  func `a refused lookup says no, and why`(_ code: Int32, _ reason: String) throws {
    let replay = try Replay(Self.listed + Self.refusals(from: 3, code))
    #expect(replay.told == ["1000 2000 not-reachable \(reason) -"])
  }

  @Test(arguments: [EOPNOTSUPP, EAFNOSUPPORT])
  func `without IPv6 the end of the IPv4 route is no route`(_ code: Int32) throws {
    let removal = MessageBuilder.route(type: RTM_DELROUTE) { $0.attribute(Int(RTA_OIF.rawValue), number: Int32(3)) }
    let answers = [
      SmallTrace.route(3), SmallTrace.refusal(4, code), SmallTrace.reply(5, SmallTrace.done),
      SmallTrace.refusal(6, code),
    ]
    let turn = ["turn 5000 6000 event", "event " + SmallTrace.hex(removal), "event end"]
    let replay = try Replay(Self.listed + answers + turn + Self.refusals(from: 7, ENETUNREACH))
    #expect(replay.told == [SmallTrace.told[0], "5000 6000 not-reachable no_route -"])
  }

  @Test(arguments: [ENOBUFS, ENOMEM, EINTR])
  func `what the kernel had no memory for is asked again, three times`(_ code: Int32) throws {
    for count in UInt32(1)...3 {
      let refused = (3..<3 + count).map { SmallTrace.refusal($0, code) }
      let answers = [
        SmallTrace.route(3 + count), SmallTrace.noRoute(4 + count), SmallTrace.reply(5 + count, SmallTrace.done),
        SmallTrace.noRoute(6 + count),
      ]
      let replay = try Replay(Self.listed + refused + answers)
      #expect(replay.told == [SmallTrace.told[0]] && replay.fault == nil)
    }
  }

  @Test(arguments: [EPERM, EACCES, EOPNOTSUPP])
  func `a refused listing ends the start with the kernel's own reason`(_ code: Int32) throws {
    let file = try TraceFile([TraceFormat.header, "start 1 2"] + (1..<20).map { SmallTrace.refusal($0, code) })
    let reader = try TraceReader(opening: file.path)
    // The clock stands still, so the time limit of the start never passes.
    let reachability = try NetlinkReachability(
      on: NetlinkSource(on: EventLoop(by: ManualClock()), input: .replayed(TracePlayer(reader))),
      configuration: .init(),
      publish: { _, _, _ in Issue.record("a path") }, fail: { _ in })
    #expect(throws: SystemError.netlink("RTM_GETLINK dump", code)) { try reachability.start() }
    // Nine listings are tried at once, after the two lines at the beginning. None is tried after a pause.
    #expect(reader.line == 2 + 9)
    reachability.stop()
  }

  @Test func `a lookup that fails otherwise ends the start with the kernel's own reason`() throws {
    let replies = (3..<80).map { SmallTrace.refusal($0, EIO) }
    let file = try TraceFile(Self.listed + replies)
    let player = TracePlayer(try TraceReader(opening: file.path))
    let reachability = try NetlinkReachability(
      on: NetlinkSource(on: EventLoop(), input: .replayed(player)), configuration: .init(),
      publish: { _, _, _ in Issue.record("a path") }, fail: { _ in })
    #expect(throws: SystemError.self) { try reachability.start() }
    reachability.stop()
  }

  @Test func `a kernel that cannot tell of next hops or filter is recorded and played`() throws {
    var lines = SmallTrace.lines
    lines.insert(contentsOf: ["event failed attach \(EPERM)", "event failed join \(EINVAL)"], at: 2)
    let replay = try Replay(lines)
    #expect(replay.told == SmallTrace.told && replay.fault == nil)
  }
}
