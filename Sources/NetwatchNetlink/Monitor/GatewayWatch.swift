import CLibNetlink
import Glibc
import Netwatch
import NetwatchEventLoop

/// Tells what the kernel's table of neighbours says of the routers that the traffic goes through. No packet is sent.
///
/// Belongs to its loop. It has sockets of its own, so whoever does not want it pays nothing.
package final class GatewayWatch {
  private let loop: EventLoop
  private let conversation: NetlinkConversation
  private let events: NetlinkSocket
  private var registration: EventLoop.Registration?
  private var watched: [Neighbour] = []
  /// What the routers were found for.
  private var verdict: NetworkPath.Verdict?

  /// Called with each thing that the kernel says of a router.
  package var heard: (Neighbour, NeighbourState) -> Void = { _, _ in }
  /// Called when all that can be read for now was read, with the time of that.
  package var turnEnded: (Moment) -> Void = { _ in }

  package init(on loop: EventLoop) throws(NetlinkError) {
    self.loop = loop
    conversation = try NetlinkConversation(
      .reply, of: .kernel, protocol: NETLINK_ROUTE, log: NetlinkDecoder.log("neighbours", as: .answer))
    events = try NetlinkSocket(.event, of: .kernel, log: NetlinkDecoder.log("neighbour", as: .notification))
    try events.makeNonBlocking()
  }

  // MARK: Routers

  /// From now on the routers of this path are watched; what the kernel knows of new ones is told before this returns.
  ///
  /// - Parameter found: called with the routers, before anything is told of them.
  package func follow(_ path: NetworkPath, found: ([Neighbour]) -> Void) throws {
    if path.verdict != verdict {
      verdict = path.verdict
      let routers = try routers(of: path.verdict)
      found(routers)
      let new = routers.filter { !watched.contains($0) }
      watched = routers
      _ = events.attach(NeighbourFilter.program(passing: routers))
      // Where that is not permitted, what is known is as old as the path.
      try? listen()
      for router in new { try read(router) }
    } else {
      found(watched)
    }
  }

  /// Not before there is a router to hear of.
  private func listen() throws {
    guard registration == nil, !watched.isEmpty else { return }
    try events.join(RTNLGRP_NEIGH)
    registration = try loop.watch(events.descriptor, for: .readable) { [unowned self] _ in readEvents() }
  }

  private func routers(of verdict: NetworkPath.Verdict) throws(NetlinkError) -> [Neighbour] {
    guard let carrier = verdict.interfaceIndex else { return [] }
    if let vpn = verdict.vpn { return vpn.isCarrierKnown ? try routers(beneathTunnelOver: carrier) : [] }
    return [verdict.ipv4, verdict.ipv6].compactMap { family in
      family?.gateway.map { Neighbour(interfaceIndex: family?.interfaceIndex ?? carrier, address: $0) }
    }
  }

  /// Those that packets of the tunnel's own go through.
  private func routers(beneathTunnelOver carrier: Int32) throws(NetlinkError) -> [Neighbour] {
    var routers: [Neighbour] = []
    for target in [Destinations.internet.ipv4.first, Destinations.internet.ipv6.first].compactMap({ $0 }) {
      guard case .hop(let hop) = try route(to: target, user: 0, over: carrier), let gateway = hop.gateway else {
        continue
      }
      routers.append(Neighbour(interfaceIndex: hop.interfaceIndex, address: gateway))
    }
    return routers
  }

  /// Whether a route leads to an address, for this user.
  package func isRouted(_ address: IPAddress) -> Bool {
    switch try? route(to: address, user: getuid(), over: 0) {
    case .hop, .hops, .own: true
    case .noRoute, .refused, .rules, nil: false
    }
  }

  private func route(to target: IPAddress, user: uid_t, over link: Int32) throws(NetlinkError) -> RouteAnswer {
    var answer = RouteAnswer.noRoute
    var request = try NetlinkRequest.lookUp(target, user: user, port: nil, link: link)
    _ = try conversation.ask(&request) { frame, bytes in
      switch NetlinkDecoder.message(frame, bytes, as: .answer) {
      case .route(let found): answer = found
      case .routeOverNextHop(_, let hop): answer = .hop(hop)
      case .event, .nextHop, .rule, .ignored: break
      }
    }
    return answer
  }

  // MARK: Neighbours

  private func readEvents() {
    let moment = Moment.now
    do throws(NetlinkError) {
      var isDoubtful = false
      while try events.readFrames({ frame, bytes in
        if frame.kind == .overrun || hear(frame, bytes) == .failed { isDoubtful = true }
      }) {}
      // Who deletes an entry lets it fail first. To be asked, the kernel has to be done with that.
      if isDoubtful { for router in watched { try read(router) } }
    } catch {
      // What was heard last is the last that is known.
      stopListening()
    }
    turnEnded(moment)
  }

  @discardableResult private func hear(_ frame: NetlinkFrame, _ bytes: RawSpan) -> NeighbourState? {
    guard [RTM_NEWNEIGH, RTM_DELNEIGH].contains(Int(frame.type)),
      let (neighbour, state) = NetlinkDecoder.neighbourState(bytes, frame.payload), watched.contains(neighbour)
    else { return nil }
    let told = Int(frame.type) == RTM_DELNEIGH ? .absent : state
    heard(neighbour, told)
    return told
  }

  private func read(_ router: Neighbour) throws(NetlinkError) {
    let reply = try conversation.ask(about: router) { _ = hear($0, $1) }
    if reply.error == ENOENT { heard(router, .absent) }
  }

  private func stopListening() {
    if let registration { loop.remove(registration) }
    registration = nil
  }

  package func stop() {
    stopListening()
    watched = []
    verdict = nil
  }
}
