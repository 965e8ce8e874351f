import CLibNetlink
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Answers ``RouteQuery`` by the kernel's routes, rules and next hops.
package struct RouteQueries {
  /// The pauses before a request is repeated that the kernel had no memory for, in microseconds. There is one repetition for
  /// each pause.
  private static let pauses: [UInt32] = [1_000, 4_000, 16_000]
  /// The most members of a next-hop group that are looked up.
  private static let memberLimit = 32
  /// The most routes to single addresses over one link that are looked at.
  private static let hostRouteLimit = 32

  private let conversation: NetlinkRequestSocket
  private let pause: (UInt32) -> Void

  /// - Parameter pause: The closure that waits for a time in microseconds. Default: usleep(3).
  package init(by conversation: NetlinkRequestSocket, pause: @escaping (UInt32) -> Void = { usleep($0) }) {
    self.conversation = conversation
    self.pause = pause
  }

  /// Asks the kernel.
  package func ask(_ query: RouteQuery) throws(SystemError) -> RouteAnswer {
    switch query.kind {
    case .rules: return try rules(query.family)
    case .hostRoutes: return try hostRoutes(over: query.link, query.family)
    case .neighbours: return try neighbours()
    case .way, .sourcedWay, .route, .lifetime:
      var request = try NetlinkRequest.lookUp(query)
      let answer = try lookUp(&request)
      guard !query.asksForRoute, case .hop(var hop) = answer else { return answer }
      // IPv4 does not repeat the source of the question, and IPv6 names the one that it would choose. If there is none, a socket
      // would send from no address.
      hop.source = query.source ?? hop.source ?? .unspecified(query.family)
      return .hop(hop)
    }
  }

  // MARK: Lookups

  private func lookUp(_ request: inout NetlinkRequest) throws(SystemError) -> RouteAnswer {
    var answer = RouteAnswer.noRoute
    // The next-hop object, if the response has its number instead of a link.
    var nextHop: (number: UInt32, hop: RouteHop)?
    func read(_ message: NetlinkDecoder.Message) {
      switch message {
      case .route(let found): answer = found.withoutDeadHops
      case .routeOverNextHop(let number, let hop): nextHop = (number, hop)
      case .event, .nextHop, .rule, .ignored: break
      }
    }
    var reply = try ask(&request, read)
    for time in Self.pauses where reply.isRefusedForNow {
      pause(time)
      reply = try ask(&request, read)
    }
    if let nextHop { return try self.answer(over: nextHop.number, nextHop.hop) }
    return reply.error == 0 ? answer : try self.answer(to: request, refusedWith: reply.error)
  }

  private func answer(to request: NetlinkRequest, refusedWith code: CInt) throws(SystemError) -> RouteAnswer {
    switch code {
    case EHOSTUNREACH, EACCES, EPERM: return .refused
    // A black hole. But a kernel that does not know an option returns the same error.
    case EINVAL: return request.hasOptions ? .noRoute : .refused
    // The last ones mean that the kernel does not have the family, or the link is gone.
    case ENETUNREACH, ESRCH, ENOENT, ENETDOWN, EADDRNOTAVAIL, EOPNOTSUPP, EAFNOSUPPORT, ENODEV, ENXIO: return .noRoute
    default: throw SystemError.netlink("RTM_GETROUTE", code)
    }
  }

  /// Returns the hops of a route that uses a next-hop object or a group of them.
  private func answer(over number: UInt32, _ route: RouteHop) throws(SystemError) -> RouteAnswer {
    guard let object = try object(number) else { return .noRoute }
    if object.isBlackhole { return .refused }
    var hops: [RouteHop] = []
    func add(_ object: NextHopObject) {
      guard object.interfaceIndex > 0 else { return }
      var hop = route
      hop.interfaceIndex = object.interfaceIndex
      hop.gateway = object.gateway
      hops.append(hop)
    }
    add(object)
    for member in object.members.prefix(Self.memberLimit) { if let found = try self.object(member) { add(found) } }
    return hops.count == 1 ? .hop(hops[0]) : hops.isEmpty ? .noRoute : .hops(hops)
  }

  /// Returns a next-hop object; nil if it is gone.
  private func object(_ number: UInt32) throws(SystemError) -> NextHopObject? {
    var object: NextHopObject?
    var request = try NetlinkRequest.nextHop(number)
    _ = try ask(&request) { if case .nextHop(let found) = $0 { object = found } }
    return object
  }

  /// Returns the rules of a family. The answer is `refused` by kernels without rules or without the family.
  private func rules(_ family: AddressFamily) throws(SystemError) -> RouteAnswer {
    var rules: [RoutingRule] = []
    var request = try NetlinkRequest.rules(family)
    let reply = try ask(&request) { if case .rule(let rule) = $0 { rules.append(rule) } }
    try reply.check("RTM_GETRULE dump")
    return reply.error == 0 ? .rules(rules) : .refused
  }

  /// Finds the single addresses to which programs or persons have added routes over a link. If the link has default routes, the
  /// gateway has to be that of one of them; a route by another gateway is there for another reason. Without strict checking, the
  /// kernel would list all routes of the machine, which may be a million; then nothing is found.
  private func hostRoutes(over link: Int32, _ family: AddressFamily) throws(SystemError) -> RouteAnswer {
    guard conversation.isStrict else { return .noRoute }
    var request = try NetlinkRequest.routes(family, over: link)
    var found: [InternetAddress] = []
    for _ in 0...Self.pauses.count {
      var routes: [(destination: InternetAddress, gateway: InternetAddress?)] = []
      var defaults: [InternetAddress?] = []
      let reply = try conversation.ask(&request) { frame, bytes in
        let hops: [RouteHop]
        switch NetlinkDecoder.message(frame, bytes, as: .answer) {
        case .route(.hop(let hop)): hops = [hop]
        case .route(.hops(let all)): hops = all
        // A route over a next-hop object is skipped, because among many routes a request for each object would be too expensive.
        default: return
        }
        for hop in hops where hop.interfaceIndex == link && hop.table == RoutingRule.mainTable {
          if hop.prefixLength == 0 {
            defaults.append(hop.gateway)
          } else if hop.isHostRoute(family), let destination = NetlinkDecoder.destination(frame, bytes) {
            routes.append((destination, hop.gateway))
          }
        }
      }
      let isAny = defaults.isEmpty || defaults.contains(nil)
      found = routes.filter { isAny || defaults.contains($0.gateway) }.prefix(Self.hostRouteLimit).map(\.destination)
      // If the routes have changed meanwhile, the list may have holes.
      if reply.isWhole { break }
    }
    return .hostRoutes(found)
  }

  /// Returns the links on which other machines are known. None if the kernel refuses the list.
  private func neighbours() throws(SystemError) -> RouteAnswer {
    var links: [Int32] = []
    var request = try NetlinkRequest.allNeighbours()
    _ = try conversation.ask(&request) { frame, bytes in
      guard Int(frame.type) == RTM_NEWNEIGH, let (found, state) = NetlinkDecoder.neighbourState(bytes, frame.payload),
        [.reachable, .stale].contains(state), !links.contains(found.interfaceIndex)
      else { return }
      links.append(found.interfaceIndex)
    }
    return .neighbours(links)
  }

  private func ask(
    _ request: inout NetlinkRequest, _ body: (NetlinkDecoder.Message) -> Void
  ) throws(SystemError) -> NetlinkRequestSocket.Reply {
    try conversation.ask(&request) { frame, bytes in body(NetlinkDecoder.message(frame, bytes, as: .answer)) }
  }
}

/// Requests about links and addresses.
///
/// The kernel responds within the send, so the calls do not wait, except for other changes to the network that hold the
/// kernel's lock.
package final class LinkQueries {
  private let conversation: NetlinkRequestSocket
  private var linkList: NetlinkRequest
  private var addressList: NetlinkRequest
  private var link: NetlinkRequest

  package init(by conversation: NetlinkRequestSocket) throws(SystemError) {
    self.conversation = conversation
    linkList = try .links()
    addressList = try .addresses()
    link = try .link()
  }

  /// Lists links, then addresses.
  ///
  /// - Returns: False if something changed meanwhile, so that the list may be incomplete.
  package func list(_ body: (NetworkEvent) -> Void) throws(SystemError) -> Bool {
    guard try ask(&linkList, body).isComplete("RTM_GETLINK dump") else { return false }
    return try ask(&addressList, body).isComplete("RTM_GETADDR dump")
  }

  /// Reads one link. If the link does not exist, `body` is not called.
  package func read(_ index: Int32, _ body: (NetworkEvent) -> Void) throws(SystemError) {
    link.setLinkIndex(index)
    try ask(&link, body).check("RTM_GETLINK")
  }

  /// Returns when the kernel has finished its pending changes. It reports some removals before it performs them, and reading a
  /// link takes the lock that it holds meanwhile.
  package func waitForPendingChanges() throws(SystemError) { try read(1) { _ in } }

  private func ask(
    _ request: inout NetlinkRequest, _ body: (NetworkEvent) -> Void
  ) throws(SystemError) -> NetlinkRequestSocket.Reply {
    try conversation.ask(&request) { frame, bytes in
      if case .event(let event) = NetlinkDecoder.message(frame, bytes, as: .answer) { body(event) }
    }
  }
}

/// The requests to rtnetlink.
extension NetlinkRequest {
  /// Makes the request for every link.
  static func links() throws(SystemError) -> NetlinkRequest { try links(flags: NLM_F_DUMP) }

  /// Makes the request for one link. ``setLinkIndex(_:)`` sets the index later.
  static func link() throws(SystemError) -> NetlinkRequest { try links(flags: 0) }

  private static func links(flags: CInt) throws(SystemError) -> NetlinkRequest {
    try unsafe build(RTM_GETLINK, flags: flags) { message in
      unsafe append(ifinfomsg(), to: message)
        && nla_put_u32(message, CInt(IFLA_EXT_MASK), UInt32(RTEXT_FILTER_SKIP_STATS)) == 0
    }
  }

  /// Sets the index in ``link()``, which is in the header after family, padding and type.
  fileprivate mutating func setLinkIndex(_ index: Int32) { set(index, at: 16 + 4) }

  /// Makes the request for the 64-bit counters of one link. ``setStatisticsIndex(_:)`` sets the index later. Since Linux 4.7.
  package static func counters() throws(SystemError) -> NetlinkRequest {
    var header = if_stats_msg()
    header.filter_mask = 1 << UInt32(IFLA_STATS_LINK_64 - 1)
    return try unsafe build(RTM_GETSTATS, flags: 0) { [header] in unsafe append(header, to: $0) }
  }

  /// Sets the index in ``counters()``, which is in the header after family and padding.
  package mutating func setStatisticsIndex(_ index: Int32) { set(index, at: 16 + 4) }

  /// Makes the request for every address.
  static func addresses() throws(SystemError) -> NetlinkRequest {
    try unsafe build(RTM_GETADDR, flags: NLM_F_DUMP) { unsafe append(ifaddrmsg(), to: $0) }
  }

  /// Makes the request for all rules of a family.
  static func rules(_ family: AddressFamily) throws(SystemError) -> NetlinkRequest {
    try unsafe build(RTM_GETRULE, flags: NLM_F_DUMP) { unsafe append(header(family), to: $0) }
  }

  /// Makes the request for all routes of a family over a link. Without strict checking, the kernel lists all routes.
  static func routes(_ family: AddressFamily, over link: Int32) throws(SystemError) -> NetlinkRequest {
    try unsafe build(RTM_GETROUTE, flags: NLM_F_DUMP) { message in
      unsafe append(header(family), to: message)
        && nla_put_u32(message, CInt(RTA_OIF.rawValue), UInt32(bitPattern: link)) == 0
    }
  }

  /// Makes the request for a next-hop object or a group of them. Since Linux 5.3.
  static func nextHop(_ number: UInt32) throws(SystemError) -> NetlinkRequest {
    try unsafe build(RTM_GETNEXTHOP, flags: 0) { message in
      unsafe append(nhmsg(), to: message) && nla_put_u32(message, CInt(NHA_ID), number) == 0
    }
  }

  /// Makes the request for a route lookup.
  static func lookUp(_ query: RouteQuery) throws(SystemError) -> NetlinkRequest {
    let output = query.link != 0 ? query.link : query.vrf
    var request = try unsafe build(RTM_GETROUTE, flags: 0) { message in
      var route = header(query.family)
      // Under strict checking, IPv4 requires the full length.
      route.rtm_dst_len = query.family == .ipv4 ? 32 : 128
      if query.source != nil { route.rtm_src_len = route.rtm_dst_len }
      // IPv6 always reports the table, and refuses the flag.
      if query.family == .ipv4 { route.rtm_flags = UInt32(RTM_F_LOOKUP_TABLE) }
      if query.asksForRoute { route.rtm_flags |= UInt32(RTM_F_FIB_MATCH) }
      guard unsafe append(route, to: message), unsafe append(query.destination, CInt(RTA_DST.rawValue), to: message),
        query.source.map({ unsafe append($0, CInt(RTA_SRC.rawValue), to: message) }) ?? true,
        // Without it, the kernel takes the user of this process.
        unsafe nla_put_u32(message, CInt(RTA_UID.rawValue), query.user) == 0,
        unsafe output == 0 || nla_put_u32(message, CInt(RTA_OIF.rawValue), UInt32(bitPattern: output)) == 0,
        unsafe query.mark == 0 || nla_put_u32(message, CInt(RTA_MARK.rawValue), query.mark) == 0
      else { return false }
      guard let port = query.port else { return true }
      return unsafe nla_put_u8(message, CInt(RTA_IP_PROTO.rawValue), UInt8(IPPROTO_TCP)) == 0
        && nla_put_u16(message, CInt(RTA_DPORT.rawValue), port.bigEndian) == 0
        && (query.sourcePort.map { unsafe nla_put_u16(message, CInt(RTA_SPORT.rawValue), $0.bigEndian) == 0 } ?? true)
    }
    request.hasOptions = query.asksForRoute || query.mark != 0 || query.port != nil
    return request
  }

  /// Makes the request for one entry of the neighbour table. Since Linux 5.0.
  package static func neighbour(_ neighbour: Neighbour) throws(SystemError) -> NetlinkRequest {
    try unsafe build(RTM_GETNEIGH, flags: 0) { message in
      unsafe append(header(of: neighbour), to: message) && append(neighbour.address, CInt(NDA_DST), to: message)
    }
  }

  /// Makes the request for all neighbours of a family on a link. Without strict checking, the kernel lists those of all links.
  package static func neighbours(like neighbour: Neighbour) throws(SystemError) -> NetlinkRequest {
    var header = header(of: neighbour)
    header.ndm_ifindex = 0
    return try unsafe build(RTM_GETNEIGH, flags: NLM_F_DUMP) { [header] message in
      unsafe append(header, to: message)
        && nla_put_u32(message, CInt(NDA_IFINDEX), UInt32(bitPattern: neighbour.interfaceIndex)) == 0
    }
  }

  /// Makes the request for all neighbours.
  package static func allNeighbours() throws(SystemError) -> NetlinkRequest {
    try unsafe build(RTM_GETNEIGH, flags: NLM_F_DUMP) { message in unsafe append(ndmsg(), to: message) }
  }

  private static func header(of neighbour: Neighbour) -> ndmsg {
    var header = ndmsg()
    header.ndm_family = neighbour.address.family.number
    header.ndm_ifindex = neighbour.interfaceIndex
    return header
  }

  private static func header(_ family: AddressFamily) -> rtmsg {
    var header = rtmsg()
    header.rtm_family = family.number
    return header
  }

  private static func append(_ address: InternetAddress, _ attribute: CInt, to message: OpaquePointer) -> Bool {
    switch address {
    case .v4(let bits):
      var address = bits.bigEndian
      return unsafe nla_put(message, attribute, 4, &address) == 0
    case .v6(let bits):
      var address = bits.bigEndian
      return unsafe nla_put(message, attribute, 16, &address) == 0
    }
  }
}

extension AddressFamily {
  /// AF_INET or AF_INET6.
  package var number: UInt8 { UInt8(self == .ipv4 ? AF_INET : AF_INET6) }
}
