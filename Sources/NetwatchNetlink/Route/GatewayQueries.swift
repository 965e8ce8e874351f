import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Requests about the gateway of a link: its address and its hardware address. No packet is sent.
struct GatewayQueries {
  private let conversation: NetlinkRequestSocket
  private let routes: RouteQueries

  init(_ routes: RouteQueries, by conversation: NetlinkRequestSocket) {
    self.routes = routes
    self.conversation = conversation
  }

  /// Returns the facts that distinguish the network of a link from others: those of IPv4, or those of IPv6 if IPv4 has no
  /// gateway there. The order is always the same, so that one network has one ID.
  ///
  /// - Returns: Nil if the link does not lead to the internet over a gateway, or as long as the kernel does not know the
  ///   gateway's hardware address.
  func facts(of link: Interface) throws(SystemError) -> NetworkIdentity.Facts? {
    for family in [AddressFamily.ipv4, .ipv6] {
      guard let gateway = try gateway(family, over: link.index) else { continue }
      guard let address = try hardwareAddress(of: Neighbour(interfaceIndex: link.index, address: gateway)) else {
        return nil
      }
      // A gateway outside all networks of the link, as on many rented servers, counts as its own network.
      let length = link.addresses.filter { $0.address.shares($0.prefixLength, with: gateway) }.map(\.prefixLength).max()
      return NetworkIdentity.Facts(
        gateway: address, address: gateway, prefixLength: length ?? (family == .ipv4 ? 32 : 128))
    }
    return nil
  }

  /// Returns the next hop to the internet over a link, even if a tunnel lies above the link.
  private func gateway(_ family: AddressFamily, over link: Int32) throws(SystemError) -> InternetAddress? {
    for standIn in Destinations.internet[family] {
      switch try routes.ask(RouteQuery(standIn, link: link)) {
      case .hop(let hop): if let gateway = hop.gateway { return gateway }
      case .hops(let hops):
        if let hop = hops.first(where: { $0.interfaceIndex == link }), let gateway = hop.gateway { return gateway }
      case .noRoute, .refused, .own, .rules, .hostRoutes, .neighbours: break
      }
    }
    return nil
  }

  /// Returns the hardware address of a neighbour; nil if the kernel does not know it now.
  private func hardwareAddress(of neighbour: Neighbour) throws(SystemError) -> UInt64? {
    var address: UInt64?
    // If the kernel refuses, the address is not known.
    _ = try conversation.ask(about: neighbour) { frame, bytes in
      address = Self.hardwareAddress(of: neighbour, frame, bytes) ?? address
    }
    return address
  }

  /// The length of struct ndmsg.
  private static let headerLength = 12
  private static let addressLength = 6

  /// Returns the hardware address in a response; nil if it is not known, or not one of Ethernet or WiFi.
  static func hardwareAddress(of neighbour: Neighbour, _ frame: NetlinkMessage, _ bytes: RawSpan) -> UInt64? {
    guard Int(frame.type) == RTM_NEWNEIGH, let (found, state) = NetlinkDecoder.neighbourState(bytes, frame.payload),
      found == neighbour, [.reachable, .stale, .permanent].contains(state),
      let value = bytes.attribute(
        NDA_LLADDR, in: (frame.payload.lowerBound + headerLength)..<frame.payload.upperBound),
      value.count == addressLength
    else { return nil }
    let address = value.reduce(UInt64(0)) { $0 << 8 | UInt64(bytes.load($1, as: UInt8.self)) }
    return address == 0 ? nil : address
  }
}

extension NetlinkRequestSocket {
  /// Returns the state of a router in the kernel's table of neighbours; nil if the kernel does not say.
  func state(of router: Neighbour) throws(SystemError) -> NeighbourState? {
    var state: NeighbourState?
    let reply = try ask(about: router) { frame, bytes in
      guard Int(frame.type) == RTM_NEWNEIGH,
        let (neighbour, told) = NetlinkDecoder.neighbourState(bytes, frame.payload),
        neighbour == router
      else { return }
      state = told
    }
    return state ?? (reply.error == ENOENT ? .absent : nil)
  }

  /// Asks for one entry of the neighbour table. A kernel before 5.0 can list neighbours but not look one up, so `body` may also
  /// be called with others.
  func ask(
    about neighbour: Neighbour, _ body: (NetlinkMessage, RawSpan) -> Void
  ) throws(SystemError) -> NetlinkRequestSocket.Reply {
    var request = try NetlinkRequest.neighbour(neighbour)
    let reply = try ask(&request, body)
    guard reply.error == EOPNOTSUPP else { return reply }
    var list = try NetlinkRequest.neighbours(like: neighbour)
    return try ask(&list, body)
  }
}
