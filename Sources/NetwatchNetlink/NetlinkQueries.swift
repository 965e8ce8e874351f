import CLibNetlink
import Glibc
import Netwatch

/// Questions to the kernel, over a socket of their own so that no notification comes between question and answer.
///
/// The kernel answers within the send, so nothing here waits, but for other changes to the network that hold its lock.
final class NetlinkQueries {
  /// How often a question is put again that the kernel had no memory for, and the pauses before it, in microseconds.
  private static let pauses: [UInt32] = [1_000, 4_000, 16_000]
  /// More members of a group of next hops only cost questions.
  private static let memberLimit = 32

  /// The kernel honours all of a request, or refuses it.
  let isStrict: Bool
  private let socket: NetlinkSocket
  private let isReplayed: Bool
  private let trace: NetlinkTrace?
  private var sequence: UInt32 = 0
  /// To the last question for a route.
  private var answer = RouteAnswer.noRoute
  /// The link and the family that routes to single addresses are listed of; nil while nothing of the kind is.
  private var hostRoutes: (Int32, AddressFamily)?
  /// What its answer names instead of a way out.
  private var nextHop: (number: UInt32, hop: RouteHop)?
  /// To the last question for a next hop.
  private var object: NextHopObject?
  /// To the last question for rules.
  private var rules: [RoutingRule] = []
  private var linkList: NetlinkRequest
  private var addressList: NetlinkRequest
  private var link: NetlinkRequest

  init(trace: NetlinkTrace?, input: NetlinkInput) throws(NetlinkError) {
    self.trace = trace
    socket = try NetlinkSocket.open(.reply, of: input)
    isReplayed = input.isReplayed
    isStrict = socket.enableStrictChecking()
    socket.setReceiveTimeout(seconds: 5)
    linkList = try .list(RTM_GETLINK)
    addressList = try .list(RTM_GETADDR)
    link = try .link()
  }

  /// Lists links, then addresses.
  ///
  /// - Returns: false if something changed meanwhile, so that it may not be whole.
  func list(_ body: (NetworkEvent) -> Void) throws(NetlinkError) -> Bool {
    let links = try exchange(&linkList, isListing: true, body)
    guard try links.isComplete("RTM_GETLINK dump") else { return false }
    let addresses = try exchange(&addressList, isListing: true, body)
    return try addresses.isComplete("RTM_GETADDR dump")
  }

  /// Reads one link. Silent if it does not exist.
  func readLink(_ index: Int32, _ body: (NetworkEvent) -> Void) throws(NetlinkError) {
    link.setLinkIndex(index)
    try exchange(&link, isListing: false, body).check("RTM_GETLINK")
  }

  /// Returns when the kernel has finished what it was doing: it tells of some removals before it does them, and reading a
  /// link takes the lock under which it does.
  func settle() throws(NetlinkError) {
    try readLink(1) { _ in }
  }

  func lookUp(_ request: inout NetlinkRequest) throws(NetlinkError) -> RouteAnswer {
    answer = .noRoute
    nextHop = nil
    var reply = try exchange(&request, isListing: false) { _ in }
    for pause in Self.pauses where reply.isRefusedForNow {
      if !isReplayed { usleep(pause) }
      reply = try exchange(&request, isListing: false) { _ in }
    }
    if let nextHop { return try answer(over: nextHop.number, nextHop.hop) }
    return reply.error == 0 ? answer : try answer(to: request, refusedWith: reply.error)
  }

  private func answer(to request: NetlinkRequest, refusedWith code: CInt) throws(NetlinkError) -> RouteAnswer {
    switch code {
    case EHOSTUNREACH, EACCES, EPERM: return .refused
    // A black hole; but a kernel that does not know an option says the same.
    case EINVAL: return request.hasOptions ? .noRoute : .refused
    // The last ones: the kernel does without the family, or the link has gone.
    case ENETUNREACH, ESRCH, ENOENT, ENETDOWN, EADDRNOTAVAIL, EOPNOTSUPP, EAFNOSUPPORT, ENODEV, ENXIO: return .noRoute
    default: throw NetlinkError(operation: "RTM_GETROUTE", code: code)
    }
  }

  /// The hops of a route that names a next-hop object, or a group of them.
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

  /// Nil if it has gone.
  private func object(_ number: UInt32) throws(NetlinkError) -> NextHopObject? {
    object = nil
    var request = try NetlinkRequest.nextHop(number)
    _ = try exchange(&request, isListing: false) { _ in }
    return object
  }

  /// Refused by kernels without rules or without the family.
  func rules(_ family: AddressFamily) throws(NetlinkError) -> RouteAnswer {
    rules = []
    var request = try NetlinkRequest.rules(family)
    let reply = try exchange(&request, isListing: true) { _ in }
    try reply.check("RTM_GETRULE dump")
    return reply.error == 0 ? .rules(rules) : .refused
  }

  /// A route to a single address, with a gateway, that somebody has written for a link. Without strict checking the kernel
  /// lists all routes of the machine, which may be a million: then nothing is found.
  func hostRoute(over link: Int32, _ family: AddressFamily) throws(NetlinkError) -> RouteAnswer {
    guard isStrict else { return .noRoute }
    answer = .noRoute
    hostRoutes = (link, family)
    defer { hostRoutes = nil }
    var request = try NetlinkRequest.routes(family, over: link)
    _ = try exchange(&request, isListing: true) { _ in }
    if case .hop = answer { return answer }
    return .noRoute
  }

  private struct Reply {
    var isWhole = true
    var error: CInt = 0
    var isOver = false

    /// The kernel had no memory, or was interrupted: the same question may be answered.
    var isRefusedForNow: Bool { error != 0 && NetlinkError(operation: "", code: error).isTransient }

    func check(_ operation: String) throws(NetlinkError) {
      if isRefusedForNow { throw NetlinkError(operation: operation, code: error) }
    }

    /// Whether all was told; if not, it is worth another try.
    func isComplete(_ operation: String) throws(NetlinkError) -> Bool {
      if error != 0, !isRefusedForNow { throw NetlinkError(operation: operation, code: error) }
      return isWhole && error == 0
    }
  }

  private func exchange(
    _ request: inout NetlinkRequest, isListing: Bool, _ body: (NetworkEvent) -> Void
  ) throws(NetlinkError) -> Reply {
    sequence &+= 1
    request.setSequence(sequence)
    try socket.send(request.bytes)
    return try receive(isListing: isListing, body)
  }

  private func receive(isListing: Bool, _ body: (NetworkEvent) -> Void) throws(NetlinkError) -> Reply {
    var reply = Reply()
    while !reply.isOver {
      switch try socket.receive() {
      case .wouldBlock: throw NetlinkError(operation: "recv", code: ETIMEDOUT)
      case .overrun: reply.isWhole = false
      case .messages(let count):
        socket.withMessages(count) { bytes in
          NetlinkDecoder.decode(bytes, as: .answer) { header, message, range in
            trace?.print("reply", header, message, bytes, range)
            // The rest of an earlier exchange that was given up.
            guard header.sequence == sequence else { return }
            if header.isInterrupted { reply.isWhole = false }
            take(message, into: &reply, isListing: isListing, body)
          }
        }
      }
    }
    return reply
  }

  private func take(
    _ message: NetlinkDecoder.Message, into reply: inout Reply, isListing: Bool, _ body: (NetworkEvent) -> Void
  ) {
    switch message {
    case .event(let event):
      body(event)
      if !isListing { reply.isOver = true }
    case .route(let answer):
      guard let (link, family) = hostRoutes else {
        self.answer = answer
        reply.isOver = true
        break
      }
      if case .hop(let hop) = answer, hop.interfaceIndex == link, hop.isHostRoute(family) { self.answer = answer }
    case .routeOverNextHop(let number, let hop):
      // Among many routes the link that it leads over is not worth another question each.
      if hostRoutes != nil { break }
      nextHop = (number, hop)
      reply.isOver = true
    case .nextHop(let object):
      self.object = object
      reply.isOver = true
    case .rule(let rule): rules.append(rule)
    case .done: reply.isOver = true
    case .error(let code):
      reply.error = code
      reply.isOver = true
    case .overrun: reply.isWhole = false
    case .ignored: if !isListing { reply.isOver = true }
    }
  }
}
