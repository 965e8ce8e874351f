import CLibNetlink
import Glibc

@testable import NetlinkWire
@testable import NetwatchNetlink

/// A trace that was written by hand. A card with one address and a default route loses its carrier.
enum SmallTrace {
  static let lines =
    [
      "netwatch-trace 2", "set ignore docker*", "start 1000 2000",
      reply(1, card(isRunning: true)), "device 3 type=wlan wireless",
      // This kernel has no nl80211.
      "wireless-" + reply(1, done), reply(1, done), reply(2, address), reply(2, done),
      // Then come the rules of IPv4, of which there are none, and the route to the DNS root server, because IPv6 has no
      // other route.
      route(3), noRoute(4), reply(5, done), noRoute(6),
      "turn 5000 6000 event", "event " + hex(card(isRunning: false)), "event end", route(7), noRoute(8),
      // The last two answers are about all next hops and about the DNS root server.
      noRoute(9), noRoute(10),
    ]

  static let told = ["1000 2000 wifi initial wl0", "5000 6000 not-reachable no_carrier -"]

  static func card(isRunning: Bool) -> [UInt8] {
    MessageBuilder.link(3, flags: isRunning ? 0x1_0041 : 0x1) { message in
      message.attribute(IFLA_IFNAME, text: "wl0")
      message.attribute(IFLA_OPERSTATE, [isRunning ? 6 : 2])
      message.attribute(IFLA_TXQLEN, number: UInt32(1000))
    }
  }

  static let address = MessageBuilder.address(3) { message in
    message.attribute(IFA_LOCAL, .v4(0x0a00_0001))
    message.attribute(IFA_ADDRESS, .v4(0x0a00_0001))
  }

  static var done: [UInt8] {
    var message = MessageBuilder(type: Int(NLMSG_DONE))
    message.append(MessageBuilder.raw(Int32(0)))
    return message.bytes
  }

  static func route(_ sequence: UInt32) -> String {
    let message = MessageBuilder.route(prefixLength: 32) { message in
      message.attribute(Int(RTA_TABLE.rawValue), number: UInt32(254))
      message.attribute(Int(RTA_OIF.rawValue), number: UInt32(3))
      message.attribute(Int(RTA_PREFSRC.rawValue), .v4(0x0a00_0001))
      message.attribute(Int(RTA_GATEWAY.rawValue), .v4(0x0a00_0002))
    }
    return reply(sequence, message)
  }

  static func noRoute(_ sequence: UInt32) -> String { refusal(sequence, ENETUNREACH) }

  static func refusal(_ sequence: UInt32, _ code: Int32) -> String {
    var message = MessageBuilder(type: Int(NLMSG_ERROR))
    message.append(MessageBuilder.raw(-code) + [UInt8](repeating: 0, count: 16))
    return reply(sequence, message.bytes)
  }

  static func reply(_ sequence: UInt32, _ message: [UInt8]) -> String {
    var message = message
    message.replaceSubrange(8..<12, with: MessageBuilder.raw(sequence))
    return "reply " + hex(message)
  }

  static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
