import CLibNetlink
import Glibc

/// Runs the shell commands of stdin, one a line, and prints each message that the kernel sends meanwhile, in the format
/// of a trace. The line `lists` requests all dumps, and `way ADDRESS` the way to an address.
///
/// A command that fails is reported on stderr. The other commands still run, because not every kernel has each kind of
/// link.
@safe struct Messages {
  private let events: OpaquePointer
  private let replies: OpaquePointer
  private var buffer = [UInt8](repeating: 0, count: 64 << 10)
  private static let groups = [
    RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
    RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF, RTNLGRP_NEXTHOP,
  ]

  static func run() throws {
    var messages = try Messages()
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      switch words.first {
      case "lists": try messages.lists()
      case "way": try messages.ways(to: words[1])
      default:
        let status = unsafe system("{ \(line)\n} >&2")
        if status != 0 { say("failed: \(line)", to: STDERR_FILENO) }
      }
      unsafe messages.read(messages.events, "event")
    }
  }

  private init() throws {
    unsafe events = try Self.open()
    unsafe replies = try Self.open()
    var size: CInt = 8 << 20
    unsafe setsockopt(nl_socket_get_fd(events), SOL_SOCKET, SO_RCVBUFFORCE, &size, socklen_t(MemoryLayout<CInt>.size))
    for group in Self.groups { unsafe nl_socket_add_membership(events, CInt(group.rawValue)) }
  }

  private static func open() throws -> OpaquePointer {
    guard let socket = unsafe nl_socket_alloc(), unsafe nl_connect(socket, NETLINK_ROUTE) == 0,
      unsafe nl_socket_set_nonblocking(socket) == 0
    else { throw ProbeFailure("nl_connect: \(errno)") }
    return unsafe socket
  }

  /// Prints all messages that can be read from a socket. The kernel puts its response into the socket before `send`
  /// returns.
  private mutating func read(_ socket: OpaquePointer, _ channel: String) {
    let digits = Array("0123456789abcdef".utf8)
    while true {
      let count = unsafe recv(nl_socket_get_fd(socket), &buffer, buffer.count, 0)
      guard count > 0 else { return }
      let text = buffer[..<count].flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
      say("\(channel) \(String(decoding: text, as: UTF8.self))")
    }
  }

  private mutating func ask<Header: BitwiseCopyable>(
    _ type: Int, _ flags: CInt, _ header: Header, _ fill: (OpaquePointer) -> Void = { _ in }
  ) throws {
    var header = header
    guard let message = unsafe nlmsg_alloc_simple(CInt(type), NLM_F_REQUEST | flags) else {
      throw ProbeFailure("nlmsg_alloc_simple")
    }
    defer { unsafe nlmsg_free(message) }
    unsafe nlmsg_append(message, &header, MemoryLayout<Header>.size, CInt(NLMSG_ALIGNTO))
    unsafe fill(message)
    guard unsafe nl_send_auto(replies, message) > 0 else { throw ProbeFailure("send: \(errno)") }
    unsafe read(replies, "reply")
  }

  private mutating func lists() throws {
    unsafe try ask(RTM_GETLINK, NLM_F_DUMP, ifinfomsg())
    unsafe try ask(RTM_GETADDR, NLM_F_DUMP, ifaddrmsg())
    unsafe try ask(RTM_GETROUTE, NLM_F_DUMP, rtmsg())
    unsafe try ask(RTM_GETRULE, NLM_F_DUMP, fib_rule_hdr())
    unsafe try ask(RTM_GETNEIGH, NLM_F_DUMP, ndmsg())
    unsafe try ask(RTM_GETNEXTHOP, NLM_F_DUMP, nhmsg())
    unsafe try ask(RTM_GETNETCONF, NLM_F_DUMP, netconfmsg())
    var statistics = if_stats_msg()
    statistics.filter_mask = 1 << UInt32(IFLA_STATS_LINK_64 - 1)
    unsafe try ask(RTM_GETSTATS, NLM_F_DUMP, statistics)
  }

  /// Asks for the way of a packet to an address and for the route itself, each without a link and over the links 1 to
  /// 4.
  private mutating func ways(to text: String) throws {
    var bytes = [UInt8](repeating: 0, count: 16)
    let isIPv4 = !text.contains(":")
    unsafe inet_pton(isIPv4 ? AF_INET : AF_INET6, text, &bytes)
    for flags in [0, RTM_F_FIB_MATCH] {
      for link in 0...4 as ClosedRange<UInt32> {
        var header = rtmsg()
        header.rtm_family = UInt8(isIPv4 ? AF_INET : AF_INET6)
        header.rtm_dst_len = isIPv4 ? 32 : 128
        header.rtm_flags = UInt32(flags) | (isIPv4 ? UInt32(RTM_F_LOOKUP_TABLE) : 0)
        unsafe try ask(RTM_GETROUTE, 0, header) { [bytes] message in
          unsafe nla_put(message, CInt(RTA_DST.rawValue), isIPv4 ? 4 : 16, bytes)
          if link > 0 { unsafe nla_put_u32(message, CInt(RTA_OIF.rawValue), link) }
        }
      }
    }
  }
}
