import CLinux
import CLinuxRoute
import Glibc
import Netwatch
import NetwatchEventLoop

/// Asks the kernel for routes over netlink, and reports when routes may have changed. Needs no privilege.
///
/// Belongs to one thread. The kernel answers during the send, so no question waits.
@safe final class KernelRoutes {
  /// RTNLGRP_* of <linux/rtnetlink.h>: links, addresses, routes, rules and next hops.
  private static let groups = [
    RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE,
    RTNLGRP_IPV6_RULE, RTNLGRP_NEXTHOP,
  ]

  private let questions: FileDescriptor
  private let news: FileDescriptor
  private var sequence: UInt32 = 0
  private var reply = [UInt8](repeating: 0, count: 8_192)

  /// - Throws: The error of the system if netlink is not permitted.
  init() throws(SystemError) {
    questions = try Self.open(groups: 0)
    news = try Self.open(groups: Self.groups.reduce(0) { $0 | 1 << ($1.rawValue - 1) })
  }

  private static func open(groups: UInt32) throws(SystemError) -> FileDescriptor {
    let descriptor = try FileDescriptor.result(
      of: "socket(AF_NETLINK)",
      socket(AF_NETLINK, netwatch_netlink_socket, NETLINK_ROUTE))
    var address = sockaddr_nl()
    address.nl_family = sa_family_t(AF_NETLINK)
    address.nl_groups = groups
    let result = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(descriptor.rawValue, address, socklen_t(MemoryLayout<sockaddr_nl>.size))
      }
    }
    guard result == 0 else { throw .last("bind(AF_NETLINK)") }
    return descriptor
  }

  // MARK: News

  /// Calls `body` when links, addresses, routes or rules have changed.
  func onChange(on loop: EventLoop, _ body: @escaping () -> Void) throws(SystemError) -> EventLoop.Registration {
    try loop.watch(news.rawValue, for: .readable) { [unowned self] _ in
      drain()
      body()
    }
  }

  /// Discards the messages, because the kernel is asked for the routes anyway. Lost messages (ENOBUFS) count as a change.
  private func drain() {
    while unsafe recv(news.rawValue, &reply, reply.count, 0) >= 0 || errno == ENOBUFS || errno == EINTR {}
  }

  // MARK: Questions

  /// Returns the route of a connection from its local address.
  func route(of connection: Connection) -> PeerRoute {
    switch look(from: nil, to: connection.local, scope: connection.scope) {
    case .way(_, isOwn: true): break
    case .refused, .way: return .localAddressGone
    case .silence: return .unknown
    }
    return peerRoute(look(from: connection, to: connection.peer, scope: connection.scope))
  }

  /// Returns the route to an address, from the local address that the kernel chooses.
  func route(to address: IPAddress) -> PeerRoute { peerRoute(look(from: nil, to: address, scope: 0)) }

  private func peerRoute(_ answer: Answer) -> PeerRoute {
    switch answer {
    case .way(let link, isOwn: true): .link(link)
    case .way(let link, isOwn: false): hasCarrier(link) ? .link(link) : .none
    case .refused: .none
    case .silence: .unknown
    }
  }

  private enum Answer {
    case way(Int32, isOwn: Bool)
    case refused
    case silence
  }

  private func look(from connection: Connection?, to address: IPAddress, scope: Int32) -> Answer {
    sequence &+= 1
    var message = RouteMessage(sequence, address.family)
    message.append(RTA_DST.rawValue, address)
    if let connection {
      message.append(RTA_SRC.rawValue, connection.local)
      // Rules can select by protocol and port, and so does the choice between several next hops.
      message.append(RTA_IP_PROTO.rawValue, [UInt8(IPPROTO_TCP)])
      message.append(RTA_SPORT.rawValue, port: connection.localPort)
      message.append(RTA_DPORT.rawValue, port: connection.peerPort)
    }
    if scope > 0, address.isLinkLocal { message.append(RTA_OIF.rawValue, UInt32(scope)) }
    guard exchange(message.bytes) else { return .silence }
    return answer()
  }

  /// - Returns: False if there is no answer.
  private func exchange(_ message: [UInt8]) -> Bool {
    let sent = unsafe message.withUnsafeBytes { unsafe send(questions.rawValue, $0.baseAddress, $0.count, 0) }
    guard sent == message.count else { return false }
    // Late answers to earlier questions come first.
    for _ in 0..<16 {
      let count = unsafe recv(questions.rawValue, &reply, reply.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count >= 16 else { return false }
      if load(8, as: UInt32.self) == sequence { return true }
    }
    return false
  }

  private func load<Value: BitwiseCopyable>(_ offset: Int, as type: Value.Type) -> Value {
    unsafe reply.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: type) }
  }

  /// Parses `reply`: struct nlmsghdr, then struct nlmsgerr or struct rtmsg with its attributes.
  private func answer() -> Answer {
    let length = min(Int(load(0, as: UInt32.self)), reply.count)
    let type = load(4, as: UInt16.self)
    if type == NLMSG_ERROR {
      return [EPERM, ENOMEM, ENOBUFS, EAGAIN].contains(-load(16, as: Int32.self)) ? .silence : .refused
    }
    guard type == UInt16(RTM_NEWROUTE), length >= 28 else { return .silence }
    let kind = load(23, as: UInt8.self)
    guard [UInt8(RTN_UNICAST), UInt8(RTN_LOCAL), UInt8(RTN_ANYCAST)].contains(kind) else { return .refused }
    var offset = 28
    while offset + 4 <= length {
      let size = Int(load(offset, as: UInt16.self))
      guard size >= 4, offset + size <= length else { break }
      if load(offset + 2, as: UInt16.self) == UInt16(RTA_OIF.rawValue), size >= 8 {
        return .way(load(offset + 4, as: Int32.self), isOwn: kind == UInt8(RTN_LOCAL))
      }
      offset += (size + 3) & ~3
    }
    return .silence
  }

  /// Whether the link is up and has a carrier: IFF_RUNNING of netdevice(7). True if the kernel cannot be asked.
  private func hasCarrier(_ index: Int32) -> Bool {
    var link = unsafe ifreq()
    unsafe link.ifr_ifru.ifru_ivalue = index
    guard unsafe netwatch_read_link(questions.rawValue, UInt(SIOCGIFNAME), &link) == 0,
      unsafe netwatch_read_link(questions.rawValue, UInt(SIOCGIFFLAGS), &link) == 0
    else { return errno != ENODEV }
    return unsafe Int32(link.ifr_ifru.ifru_flags) & Int32(IFF_RUNNING) != 0
  }
}

/// A question for one route: struct nlmsghdr, struct rtmsg and attributes (rtnetlink(7)).
private struct RouteMessage {
  private(set) var bytes: [UInt8] = []

  init(_ sequence: UInt32, _ family: AddressFamily) {
    bytes.reserveCapacity(128)
    add(UInt32(28))
    add(UInt16(RTM_GETROUTE))
    add(UInt16(NLM_F_REQUEST))
    add(sequence)
    add(UInt32(0))
    let length: UInt8 = family == .ipv4 ? 32 : 128
    bytes += [UInt8(family == .ipv4 ? AF_INET : AF_INET6), length, 0, 0, 0, 0, 0, 0]
    add(UInt32(0))
  }

  private mutating func add<Value: BitwiseCopyable>(_ value: Value) {
    unsafe withUnsafeBytes(of: value) { unsafe bytes.append(contentsOf: $0) }
  }

  mutating func append(_ type: UInt32, _ value: [UInt8]) {
    add(UInt16(4 + value.count))
    add(UInt16(type))
    bytes += value
    while bytes.count % 4 != 0 { bytes.append(0) }
    let length = UInt32(bytes.count)
    unsafe withUnsafeBytes(of: length) { unsafe bytes.replaceSubrange(0..<4, with: $0) }
  }

  mutating func append(_ type: UInt32, _ value: UInt32) {
    append(type, unsafe withUnsafeBytes(of: value) { unsafe [UInt8]($0) })
  }

  mutating func append(_ type: UInt32, port: UInt16) {
    append(type, [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)])
  }

  mutating func append(_ type: UInt32, _ address: IPAddress) {
    switch address {
    case .v4(let bits): append(type, unsafe withUnsafeBytes(of: bits.bigEndian) { unsafe [UInt8]($0) })
    case .v6(let bits): append(type, unsafe withUnsafeBytes(of: bits.bigEndian) { unsafe [UInt8]($0) })
    }
    // rtm_src_len.
    if type == RTA_SRC.rawValue { bytes[18] = bytes[17] }
  }
}
