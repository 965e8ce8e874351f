import CLibNetlink
import Glibc
import Netwatch

/// Questions to the kernel, over a socket of their own so that no notification comes between question and answer.
///
/// The kernel answers within the send, so nothing here waits, but for other changes to the network that hold its lock.
final class NetlinkQueries {
  private let socket: NetlinkSocket
  private let trace: NetlinkTrace?
  /// The kernel honours what a request for a listing asks for.
  private let isStrict: Bool
  private var sequence: UInt32 = 0
  /// To the last question for a route.
  private var answer = RouteAnswer.noRoute
  /// The link and the family that routes to single addresses are listed of; nil while nothing of the kind is.
  private var hostRoutes: (Int32, AddressFamily)?
  /// To the last question for rules.
  private var rules: [RoutingRule] = []
  private var linkList: NetlinkRequest
  private var addressList: NetlinkRequest
  private var link: NetlinkRequest

  init(trace: NetlinkTrace?, input: NetlinkInput) throws(NetlinkError) {
    self.trace = trace
    socket = try NetlinkSocket.open(.reply, of: input)
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
    try links.check()
    let addresses = try exchange(&addressList, isListing: true, body)
    try addresses.check()
    return links.isWhole && addresses.isWhole
  }

  /// Reads one link. Silent if it does not exist.
  func readLink(_ index: Int32, _ body: (NetworkEvent) -> Void) throws(NetlinkError) {
    link.setLinkIndex(index)
    _ = try exchange(&link, isListing: false, body)
  }

  /// Returns when the kernel has finished what it was doing: it tells of some removals before it does them, and reading a
  /// link takes the lock under which it does.
  func settle() throws(NetlinkError) {
    try readLink(1) { _ in }
  }

  func lookUp(_ request: inout NetlinkRequest) throws(NetlinkError) -> RouteAnswer {
    answer = .noRoute
    _ = try exchange(&request, isListing: false) { _ in }
    return answer
  }

  /// Refused by kernels without rules or without the family.
  func rules(_ family: AddressFamily) throws(NetlinkError) -> RouteAnswer {
    rules = []
    var request = try NetlinkRequest.rules(family)
    let reply = try exchange(&request, isListing: true) { _ in }
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

    func check() throws(NetlinkError) {
      if error != 0 { throw NetlinkError(operation: "dump", code: error) }
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
    case .rule(let rule): rules.append(rule)
    case .done: reply.isOver = true
    case .error(let code):
      reply.error = code
      answer = code == ENETUNREACH ? .noRoute : .refused
      reply.isOver = true
    case .overrun: reply.isWhole = false
    case .ignored: if !isListing { reply.isOver = true }
    }
  }
}
