import CLibNetlink
import Glibc
import Netwatch

/// Questions to the kernel, over a socket of their own so that no notification comes between question and answer.
///
/// The kernel answers within the send, so nothing here waits, but for other changes to the network that hold its lock.
final class NetlinkQueries {
  private let socket: NetlinkSocket
  private let trace: NetlinkTrace?
  private var sequence: UInt32 = 0
  /// To the last question for a route.
  private var answer = RouteAnswer.noRoute
  private var linkList: NetlinkRequest
  private var addressList: NetlinkRequest
  private var link: NetlinkRequest
  /// By ``RouteRequest/position``; an index costs less than a hash.
  private var lookUps: [NetlinkRequest?] = []

  init(target: RouteTarget, trace: NetlinkTrace?) throws(NetlinkError) {
    self.trace = trace
    socket = try NetlinkSocket.open()
    socket.enableStrictChecking()
    socket.setReceiveTimeout(seconds: 5)
    linkList = try .list(RTM_GETLINK)
    addressList = try .list(RTM_GETADDR)
    link = try .link()
    let user = getuid()
    for family in AddressFamily.allCases {
      guard let literal = target.literal(family) else {
        lookUps += [nil, nil, nil]
        continue
      }
      lookUps.append(try .lookUp(literal, user: user, allHops: false, throughLink: false))
      lookUps.append(try .lookUp(literal, user: user, allHops: true, throughLink: false))
      lookUps.append(try .lookUp(literal, user: user, allHops: true, throughLink: true))
    }
  }

  /// Lists links, then addresses.
  ///
  /// - Returns: false if something changed meanwhile, so that it may not be whole.
  func list(_ body: (NetworkEvent) -> Void) throws(NetlinkError) -> Bool {
    let linksAreWhole = try exchange(&linkList, isListing: true, body: body).isWhole
    let addressesAreWhole = try exchange(&addressList, isListing: true, body: body).isWhole
    return linksAreWhole && addressesAreWhole
  }

  /// Reads one link. Silent if it does not exist.
  func readLink(_ index: Int32, _ body: (NetworkEvent) -> Void) throws(NetlinkError) {
    link.setLinkIndex(index)
    _ = try exchange(&link, isListing: false, body: body)
  }

  /// Returns when the kernel has finished what it was doing: it tells of some removals before it does them, and reading a
  /// link takes the lock under which it does.
  func settle() throws(NetlinkError) {
    try readLink(1) { _ in }
  }

  func lookUp(_ request: RouteRequest) throws(NetlinkError) -> RouteAnswer {
    let position = request.position
    guard lookUps[position] != nil else { return .noRoute }
    if case .link(let index) = request.scope { lookUps[position]?.setOutputLink(index) }
    sequence &+= 1
    lookUps[position]?.setSequence(sequence)
    if let bytes = lookUps[position]?.bytes { try socket.send(bytes) }
    answer = .noRoute
    _ = try receive(isListing: false) { _ in }
    return answer
  }

  private struct Reply {
    var isWhole = true
    var error: CInt = 0
    var isOver = false
  }

  private func exchange(
    _ request: inout NetlinkRequest, isListing: Bool, body: (NetworkEvent) -> Void
  ) throws(NetlinkError) -> Reply {
    sequence &+= 1
    request.setSequence(sequence)
    try socket.send(request.bytes)
    let reply = try receive(isListing: isListing, body)
    if isListing, reply.error != 0 { throw NetlinkError(operation: "dump", code: reply.error) }
    return reply
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
      self.answer = answer
      reply.isOver = true
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

extension RouteRequest {
  /// Where its message stands among those that are kept: requests for different links share one.
  fileprivate var position: Int {
    let first = family == .ipv4 ? 0 : 3
    switch scope {
    case .plain: return first
    case .allHops: return first + 1
    case .link: return first + 2
    }
  }
}
