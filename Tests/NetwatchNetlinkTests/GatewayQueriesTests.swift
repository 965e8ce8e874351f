import CLibNetlink
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// The kernel's answer about one neighbour, whole and broken.
@Suite struct GatewayQueriesTests {
  private static let gateway = Neighbour(interfaceIndex: 3, address: .ip("10.0.0.2"))

  private static func message(
    _ state: Int32, _ hardware: [UInt8]? = [2, 0, 0, 0, 0, 7], type: Int = RTM_NEWNEIGH,
    of address: InternetAddress = .ip("10.0.0.2")
  ) -> [UInt8] {
    var message = MessageBuilder(type: type)
    message.append([2, 0, 0, 0] + MessageBuilder.raw(Int32(3)) + MessageBuilder.raw(UInt16(state)) + [0, 1])
    message.attribute(NDA_DST, address)
    if let hardware { message.attribute(NDA_LLADDR, hardware) }
    return message.bytes
  }

  private static func read(_ message: [UInt8]) -> [UInt64?] {
    var found: [UInt64?] = []
    let span = unsafe message.span.bytes
    NetlinkMessage.forEach(in: span) { found.append(GatewayQueries.hardwareAddress(of: gateway, $0, span)) }
    return found
  }

  @Test func `the address counts unless the kernel looks for it, or has not found it`() {
    for state in [NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE, NUD_PERMANENT, NUD_NOARP] {
      #expect(Self.read(Self.message(state)) == [0x0200_0000_0007])
      #expect(Self.read(Self.message(state, nil)) == [nil])
    }
    for state in [NUD_NONE, NUD_INCOMPLETE, NUD_FAILED] { #expect(Self.read(Self.message(state)) == [nil]) }
  }

  @Test func `an address of another kind of link, no address, and another message are nothing`() {
    for address in [[], [0, 0, 0, 0, 0, 0], [10, 0, 0, 1], Array(repeating: 1, count: 20)] as [[UInt8]] {
      #expect(Self.read(Self.message(NUD_REACHABLE, address)) == [nil])
    }
    #expect(Self.read(Self.message(NUD_REACHABLE, type: RTM_DELNEIGH)) == [nil])
    // The message is about another neighbour.
    #expect(Self.read(Self.message(NUD_REACHABLE, of: .ip("10.0.0.3"))) == [nil])
  }

  @Test func `no byte of an answer makes it trap`() {
    var random = SplitMix(seed: 22)
    let whole = Self.message(NUD_REACHABLE)
    for _ in 0..<FuzzRounds.count(default: 5_000) {
      var broken = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        broken[Int.random(in: broken.indices, using: &random)] = UInt8(truncatingIfNeeded: random.next())
      }
      broken.removeLast(Int.random(in: 0..<broken.count, using: &random))
      #expect(Self.read(broken).count <= 4)
    }
  }
}
