import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Reports the state of the path's routers in the kernel's neighbour table. No packet is sent.
///
/// The watch belongs to the thread of its loop. It has its own sockets, so it costs nothing if it is not used.
package final class GatewayWatch {
  private let loop: EventLoop
  private let conversation: NetlinkRequestSocket
  private let routes: RouteQueries
  private let events: NetlinkSocket
  private var registration: EventLoop.Registration?
  private var watched: [Neighbour] = []
  /// The verdict for which the routers were found.
  private var verdict: NetworkPath.Verdict?

  /// The closure that gets each state that the kernel reports of a router.
  package var heard: (Neighbour, NeighbourState) -> Void = { _, _ in }
  /// The closure that is called when everything available has been read, with the time of that.
  package var turnEnded: (EventTimestamp) -> Void = { _ in }

  /// Opens the sockets. Throws a `SystemError` if the kernel refuses them.
  package init(on loop: EventLoop) throws(SystemError) {
    self.loop = loop
    conversation = try NetlinkRequestSocket(
      .reply, of: .kernel, protocol: NETLINK_ROUTE, log: NetlinkDecoder.log("neighbours", as: .answer))
    routes = RouteQueries(by: conversation)
    events = try NetlinkSocket(.event, of: .kernel, log: NetlinkDecoder.log("neighbour", as: .notification))
    try events.makeNonBlocking()
  }

  // MARK: Routers

  /// Watches the routers of this path from now on. The known states of new routers are reported before this method returns.
  ///
  /// - Parameters:
  ///   - path: The path whose routers are watched.
  ///   - found: The closure that gets the routers, before their states are reported.
  package func follow(_ path: NetworkPath, found: ([Neighbour]) -> Void) throws {
    if path.verdict != verdict {
      verdict = path.verdict
      let routers = try routers(of: path.verdict)
      found(routers)
      let new = routers.filter { !watched.contains($0) }
      watched = routers
      _ = events.attach(NeighbourFilter.program(passing: routers))
      // If this is not permitted, the known states are as old as the path.
      try? listen()
      for router in new { try read(router) }
    } else {
      found(watched)
    }
  }

  /// Subscribes to the neighbours. It waits until there is a router to watch.
  private func listen() throws {
    guard registration == nil, !watched.isEmpty else { return }
    try events.join(RTNLGRP_NEIGH)
    registration = try loop.watch(events.descriptor, for: .readable) { [unowned self] _ in readEvents() }
  }

  private func routers(of verdict: NetworkPath.Verdict) throws(SystemError) -> [Neighbour] {
    guard let carrier = verdict.interfaceIndex else { return [] }
    let covered = verdict.vpn?.families ?? []
    let direct = [(AddressFamily.ipv4, verdict.ipv4), (.ipv6, verdict.ipv6)].compactMap { family, way in
      covered.contains(family)
        ? nil : way?.gateway.map { Neighbour(interfaceIndex: way?.interfaceIndex ?? carrier, address: $0) }
    }
    // A family without a tunnel tells more than what carries the tunnel of the other one.
    guard direct.isEmpty, let vpn = verdict.vpn, vpn.isCarrierKnown else { return direct }
    return try routers(beneathTunnelOver: carrier)
  }

  /// Returns the routers that carry the tunnel's own packets.
  private func routers(beneathTunnelOver carrier: Int32) throws(SystemError) -> [Neighbour] {
    var routers: [Neighbour] = []
    for target in [Destinations.internet.ipv4.first, Destinations.internet.ipv6.first].compactMap({ $0 }) {
      guard case .hop(let hop) = try routes.ask(RouteQuery(target, link: carrier)), let gateway = hop.gateway else {
        continue
      }
      routers.append(Neighbour(interfaceIndex: hop.interfaceIndex, address: gateway))
    }
    return routers
  }

  /// Returns whether a route leads to an address, for this user.
  package func isRouted(_ address: InternetAddress) -> Bool {
    switch try? routes.ask(RouteQuery(address, user: geteuid())) {
    case .hop, .hops, .own: true
    case .noRoute, .refused, .rules, .hostRoutes, .neighbours, nil: false
    }
  }

  // MARK: Neighbours

  private func readEvents() {
    let moment = EventTimestamp.now
    do throws(SystemError) {
      var isDoubtful = false
      while try events.readFrames({ frame, bytes in
        if frame.kind == .overrun || hear(frame, bytes) == .failed { isDoubtful = true }
      }) {}
      // A program that deletes an entry first makes it fail. The kernel is asked when it is done with that.
      if isDoubtful { for router in watched { try read(router) } }
    } catch {
      // The last states that were reported remain.
      stopListening()
    }
    turnEnded(moment)
  }

  @discardableResult private func hear(_ frame: NetlinkMessage, _ bytes: RawSpan) -> NeighbourState? {
    guard [RTM_NEWNEIGH, RTM_DELNEIGH].contains(Int(frame.type)),
      let (neighbour, state) = NetlinkDecoder.neighbourState(bytes, frame.payload), watched.contains(neighbour)
    else { return nil }
    let told = Int(frame.type) == RTM_DELNEIGH ? .absent : state
    heard(neighbour, told)
    return told
  }

  private func read(_ router: Neighbour) throws(SystemError) {
    if let state = try conversation.state(of: router) { heard(router, state) }
  }

  private func stopListening() {
    if let registration { loop.remove(registration) }
    registration = nil
  }

  /// Stops watching and forgets the routers.
  package func stop() {
    stopListening()
    watched = []
    verdict = nil
  }
}
