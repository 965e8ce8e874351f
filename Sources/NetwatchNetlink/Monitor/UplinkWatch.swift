import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Judges each link that could carry the traffic, as if it were the only one: asks the kernel for its routes and its table of neighbours.
/// No packet is sent, and no privilege is needed.
///
/// The watch belongs to the thread of its loop. It has its own sockets, so it costs nothing if it is not used.
package final class UplinkWatch {
  /// The time from the kernel's news to the questions. A router of many routes has news all the time.
  private static let delay = Duration.milliseconds(20)

  private let loop: EventLoop
  private let conversation: NetlinkRequestSocket
  private let routes: RouteQueries
  private let events: NetlinkSocket
  private var registration: EventLoop.Registration?
  private let includes: (@Sendable (_ name: String) -> Bool)?
  private let changed: (EventTimestamp) -> Void
  private var path: NetworkPath?
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in if judge() { changed(.now) } }

  /// The links that could carry the traffic of the last path. What probes have found is not set.
  package private(set) var uplinks: [Uplink] = []

  /// Opens the sockets and starts to listen.
  ///
  /// - Parameters:
  ///   - includes: Decides by name over which links traffic may leave; nil for all.
  ///   - changed: The closure that is called when ``uplinks`` have changed without a new path, with the time.
  /// - Throws: A `SystemError` if the kernel refuses a socket.
  package init(
    on loop: EventLoop, includes: (@Sendable (_ name: String) -> Bool)?, changed: @escaping (EventTimestamp) -> Void
  ) throws {
    self.loop = loop
    self.includes = includes
    self.changed = changed
    conversation = try NetlinkRequestSocket(
      .reply, of: .kernel, protocol: NETLINK_ROUTE, log: NetlinkDecoder.log("uplinks", as: .answer))
    routes = RouteQueries(by: conversation)
    events = try NetlinkSocket(.event, of: .kernel, log: NetlinkDecoder.log("uplink", as: .notification))
    try events.makeNonBlocking()
    for group in [RTNLGRP_NEIGH, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE] { try events.join(group) }
    registration = try loop.watch(events.descriptor, for: .readable) { [unowned self] _ in readEvents() }
  }

  /// Judges the links of this path now, and whenever the kernel has news of them.
  ///
  /// - Returns: Whether there are other ``uplinks``, or one of them fails at another stage or not any more.
  @discardableResult package func follow(_ path: NetworkPath) -> Bool {
    self.path = path
    return judge()
  }

  /// Stops listening.
  package func stop() {
    if let registration { loop.remove(registration) }
    registration = nil
    timer.stop()
  }

  private func readEvents() {
    // What the news is does not matter: the kernel is asked. If that fails, what is known remains.
    while (try? events.readFrames { _, _ in }) == true {}
    if timer.deadline == nil { timer.set(after: Self.delay) }
  }

  private func judge() -> Bool {
    guard let path else { return false }
    let before = uplinks
    uplinks = path.possibleUplinks(including: includes).map { link in
      Uplink(link, of: path) { ways(over: link, of: path) }
    }
    // A router that nobody uses is reachable and stale by turns, which is no news.
    return !uplinks.elementsEqual(before) { new, old in
      new.kernelName == old.kernelName && new.medium == old.medium && new.isInUse == old.isInUse
        && new.stages.failing == old.stages.failing
    }
  }

  private func ways(over link: Interface, of path: NetworkPath) -> Uplink.Ways {
    var ways = Uplink.Ways()
    for family in AddressFamily.allCases where path.hasUsableAddress(of: link, family) {
      guard let target = Destinations.internet[family].first,
        let answer = try? routes.ask(RouteQuery(target, user: geteuid(), link: link.index))
      else { continue }
      let hops = answer.withoutDeadHops.hops.filter { $0.interfaceIndex == link.index }
      if !hops.isEmpty { ways.hasRoute = true }
      ways.routers += hops.compactMap(\.gateway).map { Neighbour(interfaceIndex: link.index, address: $0) }
    }
    for router in ways.routers {
      if let state = try? conversation.state(of: router) { ways.states.append((router, state)) }
    }
    return ways
  }
}
