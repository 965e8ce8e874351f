import CLibNetlink
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// A trace that plays the kernel. What was published is published again, and anything else in a trace is refused with a
/// sentence.
@Suite struct ReplayTests {
  private static let lines = SmallTrace.lines

  @Test func `a replay of a trace gives the events that were recorded`() throws {
    let replay = try Replay(Self.lines)
    #expect(replay.told == SmallTrace.told)
    #expect(replay.fault == nil && replay.failure == nil)
  }

  @Test func `what this machine's kernel says is recorded and told again`() throws {
    let file = TraceFile()
    let loop = try EventLoop()
    var recorded: [NetworkPath] = []
    let live = try NetlinkReachability(
      on: NetlinkSource(on: loop, input: .recorded(TraceWriter(creating: file.path))), configuration: .init(),
      publish: { path, _, _ in recorded.append(path) }, fail: { _ in })
    try live.start()
    live.resync()
    live.stop()
    let player = TracePlayer(try TraceReader(opening: file.path))
    var replayed: [NetworkPath] = []
    let replay = try NetlinkReachability(
      on: NetlinkSource(on: loop, input: .replayed(player)), configuration: .init(),
      publish: { path, _, _ in replayed.append(path) }, fail: { _ in })
    try replay.start()
    replay.replay(player) { false }
    replay.stop()
    #expect(player.fault == nil)
    #expect(!recorded.isEmpty && recorded == replayed)
  }

  @Test func `cut anywhere, it is told up to there, and said to be cut`() throws {
    let bytes = Array((Self.lines.joined(separator: "\n") + "\n").utf8)
    var whole = 0
    for length in 0..<bytes.count {
      let replay = try Replay(Array(bytes[..<length]))
      #expect(SmallTrace.told.starts(with: replay.told))
      // Nothing is missing if the trace ends between two turns.
      guard let problem = replay.fault?.problem else {
        whole += 1
        continue
      }
      #expect(problem == (length <= Self.lines[0].utf8.count ? .notATrace : .cut), "cut at \(length)")
    }
    #expect(whole == 1)
  }

  @Test func `any two lines that change places do no harm`() throws {
    var refused = 0
    for first in Self.lines.indices {
      for second in first..<Self.lines.count {
        var lines = Self.lines
        lines.swapAt(first, second)
        let replay = try Replay(lines)
        if lines == Self.lines { continue }
        if replay.fault != nil { refused += 1 }
        #expect(replay.fault != nil || replay.told == SmallTrace.told, "\(first) and \(second)")
      }
    }
    #expect(refused > 100)
  }

  @Test func `a line that is missing or there twice is found out`() throws {
    for index in Self.lines.indices {
      var lines = Self.lines
      let line = lines.remove(at: index)
      let missing = try Replay(lines)
      let isInput = index > 1
      #expect((missing.fault != nil) == (isInput || index == 0), "without \(line)")
      lines = Self.lines
      lines.insert(line, at: index)
      let twice = try Replay(lines)
      #expect(twice.fault != nil || twice.told == SmallTrace.told, "twice \(line)")
    }
  }

  @Test(arguments: [
    ("reply end", "start 1 2"), ("event end", "event end"), ("turn 1 2 reply", "an event of a socket that is open"),
    ("timer 1 2 hold", "a timer that is set"), ("device 3 wireless", "an event of a socket"),
  ])
  func `what does not come next is refused, and what does is named`(line: String, needed: String) throws {
    let isFirst = line == "reply end"
    let replay = try Replay(isFirst ? ["netwatch-trace 2", line] : Self.lines + [line])
    let fault = try #require(replay.fault)
    #expect(fault.line == (isFirst ? 2 : Self.lines.count + 1))
    let text = isFirst ? "'start'" : needed == "event end" ? "an event of a socket" : needed
    #expect(fault.description.contains("is '\(line)', but") && fault.description.contains(text), "\(fault)")
  }

  /// The small trace ends without carrier, so nothing samples the quality, and nothing has asked for a signal.
  @Test(arguments: ["quality 9000 9000 0", "quality 9000 9000 0\nquality 9001 9001 0", "quality 9000 9000 0\ntcp end"])
  func `a record that nothing responds to ends the replay`(_ records: String) throws {
    let replay = try Replay(Self.lines + [records], samples: true)
    let fault = try #require(replay.fault)
    #expect(fault.line == Self.lines.count + 1)
    #expect(fault.description.contains("but something that netwatch responds to must come next"), "\(fault)")
    #expect(replay.told == SmallTrace.told)
  }

  @Test func `a hold, a resume, a refusal and a lost socket are played too`() throws {
    var configuration = MonitorConfiguration()
    configuration.hold = .seconds(2)
    let held = Self.lines + ["timer 9000 9500 hold"]
    #expect(try Replay(held, configuration).told.last == "9000 9500 not-reachable no_carrier -")
    let waiting = try Replay(Self.lines, configuration)
    #expect(waiting.told == [SmallTrace.told[0]])
    #expect(try Replay(held).fault?.line == held.count)

    // A listing that the kernel refuses begins again.
    let again = try Replay(["netwatch-trace 2", "start 1 2", "reply failed send \(ENOBUFS)"] + Self.listing(from: 2))
    #expect(again.told == ["1 2 wifi initial wl0"] && again.fault == nil)

    let lost = try Replay(Self.lines + ["turn 7000 8000 event", "event failed recv \(EBADF)", "turn 9000 9000 event"])
    #expect(lost.failure == SystemError.netlink("recv", EBADF))
    #expect(lost.told == SmallTrace.told && lost.fault == nil)
  }

  @Test func `a socket of a replay fails where the recorded one did`() throws {
    let file = try TraceFile([
      "netwatch-trace 2", "wireless-event failed attach 12", "wireless-event failed join 2", "wireless-event overrun",
    ])
    let player = TracePlayer(try TraceReader(opening: file.path))
    let socket = try NetlinkSocket(.wirelessEvent, of: KernelInterface.replayed(player).transport)
    #expect(!socket.attach([]))
    #expect(socket.attach([]))
    #expect(throws: SystemError.netlink("setsockopt(NETLINK_ADD_MEMBERSHIP)", 2)) {
      try socket.join(RTNLGRP_LINK)
    }
    guard case .overrun = try socket.receive() else {
      Issue.record("no overrun")
      return
    }
    #expect(throws: SystemError.self) { try socket.receive() }
    #expect(player.fault?.problem == .cut)
  }

  @Test func `resuming and the addresses of a host are played too`() throws {
    let relisted = Self.listing(from: 11).filter { !$0.hasPrefix("device") && !$0.hasPrefix("wireless") }
    let resumed = try Replay(
      Self.lines + ["resumed 7000 8000", "turn 7001 8001 event", "event end"] + relisted)
    #expect(resumed.fault == nil, "\(String(describing: resumed.fault))")
    #expect(resumed.told == SmallTrace.told + ["7001 8001 wifi resumed wl0"])

    let begun = Self.lines.prefix { !$0.hasPrefix("turn") }
    let resolved = try Replay(begun + ["resolved 7000 8000 10.9.9.9", SmallTrace.noRoute(7)])
    #expect(resolved.fault == nil, "\(String(describing: resolved.fault))")
    #expect(resolved.told == [SmallTrace.told[0], "7000 8000 not-reachable no_route -"])
  }

  /// Returns what the kernel answers to a listing while the card has carrier. The questions have numbers from
  /// `sequence` on.
  private static func listing(from sequence: UInt32) -> [String] {
    [
      SmallTrace.reply(sequence, SmallTrace.card(isRunning: true)), "device 3 wireless",
      "wireless-" + SmallTrace.reply(1, SmallTrace.done),
      SmallTrace.reply(sequence, SmallTrace.done),
      SmallTrace.reply(sequence + 1, SmallTrace.address), SmallTrace.reply(sequence + 1, SmallTrace.done),
      SmallTrace.route(sequence + 2), SmallTrace.noRoute(sequence + 3),
      SmallTrace.reply(sequence + 4, SmallTrace.done), SmallTrace.noRoute(sequence + 5),
    ]
  }
}
