import Glibc
import Netwatch

/// Requests about routes, rules and next hops, for one monitor.
final class RouteQueries {
  /// The pauses before a request is repeated that the kernel had no memory for, in microseconds. There is one repetition for
  /// each pause.
  private static let pauses: [UInt32] = [1_000, 4_000, 16_000]
  /// The most members of a next-hop group that are looked up.
  private static let memberLimit = 32

  /// The content of a response to a lookup.
  private struct Finding {
    var answer = RouteAnswer.noRoute
    /// The next-hop object, if the response has its number instead of a link.
    var nextHop: (number: UInt32, hop: RouteHop)?

    mutating func read(_ frame: NetlinkFrame, _ bytes: RawSpan) {
      switch NetlinkDecoder.message(frame, bytes, as: .answer) {
      case .route(let found): answer = found
      case .routeOverNextHop(let number, let hop): nextHop = (number, hop)
      case .event, .nextHop, .rule, .ignored: break
      }
    }
  }

  private let conversation: NetlinkConversation
  private let pause: (UInt32) -> Void
  private let user = getuid()
  private let port: UInt16?
  /// The requests that are sent for every event; their bytes are built once.
  private var plainIPv4: NetlinkRequest?
  private var plainIPv6: NetlinkRequest?
  /// The same requests for the DNS root servers, which represent the internet if nothing else does.
  private var lastIPv4: NetlinkRequest?
  private var lastIPv6: NetlinkRequest?

  /// Creates the requests for a target.
  ///
  /// - Parameter pause: The closure that waits for a time in microseconds.
  init(
    _ destinations: Destinations, port: UInt16?, by conversation: NetlinkConversation, pause: @escaping (UInt32) -> Void
  ) throws(NetlinkError) {
    self.conversation = conversation
    self.pause = pause
    self.port = port
    plainIPv4 = try Self.lookUp(destinations.ipv4.first, user, port)
    plainIPv6 = try Self.lookUp(destinations.ipv6.first, user, port)
    guard destinations.areStandIns else { return }
    lastIPv4 = try Self.lookUp(destinations.ipv4.last, user, port)
    lastIPv6 = try Self.lookUp(destinations.ipv6.last, user, port)
  }

  private static func lookUp(_ address: IPAddress?, _ user: uid_t, _ port: UInt16?) throws(NetlinkError)
    -> NetlinkRequest?
  {
    guard let address else { return nil }
    return try .lookUp(address, user: user, port: port)
  }

  /// Asks the kernel for the answer that the machine needs.
  ///
  /// - Parameters:
  ///   - address: The address to look up, as the machine gives it. Nil if it leads nowhere; then the answer is no route.
  ///   - lower: The link beneath a tunnel, as the tunnel reports it; 0 for none.
  func ask(
    _ request: RouteRequest, address: @autoclosure () -> IPAddress?, lower: @autoclosure () -> Int32
  ) throws(NetlinkError) -> RouteAnswer {
    if case .rules = request.scope { return try rules(request.family) }
    if case .hostRoute(let link) = request.scope { return try hostRoute(over: link, request.family) }
    if case .plain = request.scope {
      if request.destination == 0 {
        return request.family == .ipv4 ? try lookUp(&plainIPv4) : try lookUp(&plainIPv6)
      }
      if request.isForLastStandIn, lastIPv4 != nil {
        return request.family == .ipv4 ? try lookUp(&lastIPv4) : try lookUp(&lastIPv6)
      }
    }
    guard let address = address() else { return .noRoute }
    var built = try rareLookUp(request, address, lower())
    return try lookUp(&built)
  }

  /// Makes a lookup that only some configurations need.
  @inline(never) private func rareLookUp(
    _ request: RouteRequest, _ address: IPAddress, _ lower: Int32
  ) throws(NetlinkError) -> NetlinkRequest {
    // The packets of a tunnel are sent by the kernel or by a program of root, so rules for this user do not apply to them.
    let user = request.isBeneath ? 0 : user
    let port = request.isBeneath ? nil : port
    switch request.scope {
    case .plain, .rules, .source, .hostRoute: return try .lookUp(address, user: user, port: port)
    case .allHops, .lifetime: return try .lookUp(address, user: user, port: port, wantsRoute: true)
    case .link(let index): return try .lookUp(address, user: user, port: port, link: index)
    case .marked(let mark): return try .lookUp(address, user: user, port: port, mark: mark)
    case .remote: return try .lookUp(address, user: user, port: port, link: lower)
    }
  }

  private func lookUp(_ request: inout NetlinkRequest?) throws(NetlinkError) -> RouteAnswer {
    guard var message = request.take() else { return .noRoute }
    defer { request = message }
    return try lookUp(&message)
  }

  private func lookUp(_ request: inout NetlinkRequest) throws(NetlinkError) -> RouteAnswer {
    var finding = Finding()
    var reply = try conversation.ask(&request) { finding.read($0, $1) }
    for time in Self.pauses where reply.isRefusedForNow {
      pause(time)
      reply = try conversation.ask(&request) { finding.read($0, $1) }
    }
    return try answer(to: request, finding, reply)
  }

  /// Asks for the first and the last address that stand for the internet. Both questions go with one system call, which takes 3.0
  /// microseconds with the responses; one after the other they take 3.7.
  func askForBothStandIns(_ family: AddressFamily) throws(NetlinkError) -> (first: RouteAnswer, last: RouteAnswer) {
    family == .ipv4 ? try lookUp(&plainIPv4, &lastIPv4) : try lookUp(&plainIPv6, &lastIPv6)
  }

  private func lookUp(
    _ first: inout NetlinkRequest?, _ last: inout NetlinkRequest?
  ) throws(NetlinkError) -> (first: RouteAnswer, last: RouteAnswer) {
    guard var request = first.take() else { return (.noRoute, .noRoute) }
    defer { first = request }
    guard var other = last.take() else { return (try lookUp(&request), .noRoute) }
    defer { last = other }
    var findings = (Finding(), Finding())
    let replies = try conversation.ask(
      &request, and: &other, { findings.0.read($0, $1) }, { findings.1.read($0, $1) })
    // One at a time, because each may have to be repeated.
    if replies.0.isRefusedForNow || replies.1.isRefusedForNow { return (try lookUp(&request), try lookUp(&other)) }
    return (try answer(to: request, findings.0, replies.0), try answer(to: other, findings.1, replies.1))
  }

  private func answer(
    to request: NetlinkRequest, _ finding: Finding, _ reply: NetlinkConversation.Reply
  ) throws(NetlinkError) -> RouteAnswer {
    if let nextHop = finding.nextHop { return try answer(over: nextHop.number, nextHop.hop) }
    return reply.error == 0 ? finding.answer : try answer(to: request, refusedWith: reply.error)
  }

  private func answer(to request: NetlinkRequest, refusedWith code: CInt) throws(NetlinkError) -> RouteAnswer {
    switch code {
    case EHOSTUNREACH, EACCES, EPERM: return .refused
    // A black hole. But a kernel that does not know an option returns the same error.
    case EINVAL: return request.hasOptions ? .noRoute : .refused
    // The last ones mean that the kernel does not have the family, or the link is gone.
    case ENETUNREACH, ESRCH, ENOENT, ENETDOWN, EADDRNOTAVAIL, EOPNOTSUPP, EAFNOSUPPORT, ENODEV, ENXIO: return .noRoute
    default: throw NetlinkError(operation: "RTM_GETROUTE", code: code)
    }
  }

  /// Returns the hops of a route that uses a next-hop object or a group of them.
  private func answer(over number: UInt32, _ route: RouteHop) throws(NetlinkError) -> RouteAnswer {
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
  private func object(_ number: UInt32) throws(NetlinkError) -> NextHopObject? {
    var object: NextHopObject?
    var request = try NetlinkRequest.nextHop(number)
    _ = try ask(&request) { if case .nextHop(let found) = $0 { object = found } }
    return object
  }

  /// Returns the rules of a family. The answer is `refused` by kernels without rules or without the family.
  func rules(_ family: AddressFamily) throws(NetlinkError) -> RouteAnswer {
    var rules: [RoutingRule] = []
    var request = try NetlinkRequest.rules(family)
    let reply = try ask(&request) { if case .rule(let rule) = $0 { rules.append(rule) } }
    try reply.check("RTM_GETRULE dump")
    return reply.error == 0 ? .rules(rules) : .refused
  }

  /// Finds a route to a single address with a gateway over a link, as a program or a person has added it. Without strict
  /// checking, the kernel would list all routes of the machine, which may be a million; then nothing is found.
  private func hostRoute(over link: Int32, _ family: AddressFamily) throws(NetlinkError) -> RouteAnswer {
    guard conversation.isStrict else { return .noRoute }
    var answer = RouteAnswer.noRoute
    var request = try NetlinkRequest.routes(family, over: link)
    _ = try ask(&request) { message in
      // A route over a next-hop object is skipped, because among many routes a request for each object would be too expensive.
      guard case .route(.hop(let hop)) = message, hop.interfaceIndex == link, hop.isHostRoute(family) else { return }
      answer = .hop(hop)
    }
    return answer
  }

  private func ask(
    _ request: inout NetlinkRequest, _ body: (NetlinkDecoder.Message) -> Void
  ) throws(NetlinkError) -> NetlinkConversation.Reply {
    try conversation.ask(&request) { frame, bytes in body(NetlinkDecoder.message(frame, bytes, as: .answer)) }
  }
}
