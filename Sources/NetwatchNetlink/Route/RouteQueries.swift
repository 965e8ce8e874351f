import Glibc
import Netwatch

/// Answers ``RouteQuery`` by the kernel's routes, rules and next hops.
struct RouteQueries {
  /// The pauses before a request is repeated that the kernel had no memory for, in microseconds. There is one repetition for
  /// each pause.
  private static let pauses: [UInt32] = [1_000, 4_000, 16_000]
  /// The most members of a next-hop group that are looked up.
  private static let memberLimit = 32

  private let conversation: NetlinkConversation
  private let pause: (UInt32) -> Void

  /// - Parameter pause: The closure that waits for a time in microseconds.
  init(by conversation: NetlinkConversation, pause: @escaping (UInt32) -> Void) {
    self.conversation = conversation
    self.pause = pause
  }

  /// Asks the kernel.
  func ask(_ query: RouteQuery) throws(NetlinkError) -> RouteAnswer {
    switch query.kind {
    case .rules: return try rules(query.family)
    case .hostRoute: return try hostRoute(over: query.link, query.family)
    case .way, .route, .lifetime:
      var request = try NetlinkRequest.lookUp(query)
      return try lookUp(&request)
    }
  }

  // MARK: Lookups

  private func lookUp(_ request: inout NetlinkRequest) throws(NetlinkError) -> RouteAnswer {
    var answer = RouteAnswer.noRoute
    // The next-hop object, if the response has its number instead of a link.
    var nextHop: (number: UInt32, hop: RouteHop)?
    func read(_ message: NetlinkDecoder.Message) {
      switch message {
      case .route(let found): answer = found
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
