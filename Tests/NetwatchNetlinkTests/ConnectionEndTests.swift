import CLibNetlink
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// The last message of the kernel about a connection, and how many of the counted bytes are payload.
@Suite struct ConnectionEndTests {
  /// Returns a message as the kernel sends it to its multicast groups. If `isEnd` is false, the message is one of a
  /// listing.
  private static func message(
    isEnd: Bool = true, family: CInt = AF_INET, state: Int = TCP_CLOSE, local: InternetAddress = .v4(0x0a00_0001),
    remote: InternetAddress = .v4(0x0a00_0002), acknowledged: UInt64 = 0, received: UInt64 = 0, sent: UInt64 = 0,
    repeated: UInt64 = 0, infoLength: Int = 280
  ) -> [UInt8] {
    var message = MessageBuilder(type: isEnd ? Int(SOCK_DIAG_BY_FAMILY) : Int(TCPDIAG_GETSOCK))
    var content = [UInt8](repeating: 0, count: 72)
    (content[0], content[1]) = (UInt8(family), UInt8(state))
    content.replaceSubrange(4..<8, with: [0xbb, 0x26, 0x00, 0x50])
    content.replaceSubrange(8..<(8 + local.networkOrder.count), with: local.networkOrder)
    content.replaceSubrange(24..<(24 + remote.networkOrder.count), with: remote.networkOrder)
    content.replaceSubrange(44..<52, with: MessageBuilder.raw(UInt64(4_711)))
    content.replaceSubrange(64..<72, with: MessageBuilder.raw(UInt32(1_000)) + MessageBuilder.raw(UInt32(99)))
    message.append(content)
    var info = [UInt8](repeating: 0, count: 280)
    for (offset, value) in [(120, acknowledged), (128, received), (200, sent), (208, repeated)] {
      info.replaceSubrange(offset..<(offset + 8), with: MessageBuilder.raw(value))
    }
    message.attribute(Int(INET_DIAG_INFO), Array(info.prefix(infoLength)))
    return message.bytes
  }

  private static func decode(_ bytes: [UInt8]) -> ConnectionDecoder.Message? {
    var message: ConnectionDecoder.Message?
    let span = unsafe bytes.span.bytes
    NetlinkMessage.forEach(in: span) { message = ConnectionDecoder.message($0, span) }
    return message
  }

  private static func payload(_ bytes: [UInt8]) throws -> [UInt64] {
    switch decode(bytes) {
    case .ended(let connection), .connection(let connection):
      return [connection.facts.payloadReceived, connection.facts.payloadSent]
    default: throw TestFailure("no connection")
    }
  }

  /// The counters that Linux 6.18 sent for connections with 100 bytes in one direction and 1,000 in the other.
  private static let ends: [(UInt64, UInt64, UInt64, UInt64, [UInt64])] = [
    // The side that connected, and then the side that accepted. It does not matter which side closed first.
    (102, 1_001, 100, 0, [1_000, 100]), (1_001, 101, 1_000, 0, [100, 1_000]),
    // Bytes that were repeated count once.
    (102, 1_001, 250, 150, [1_000, 100]),
    // The other side reset the connection.
    (1_000, 100, 1_000, 0, [100, 1_000]),
    // This side reset the connection, and the kernel has forgotten the counters.
    (0, 0, 0, 0, [0, 0]),
    // The connection was opened and closed without any payload.
    (2, 1, 0, 0, [0, 0]), (1, 1, 0, 0, [0, 0]),
    // No number is trusted, so numbers that are too large do no harm.
    (.max, .max, .max, .max, [.max - 1, 0]), (0, .max, 0, .max, [.max, 0]),
  ]

  @Test(arguments: ends)
  func `payload is exact at the end`(
    acknowledged: UInt64, received: UInt64, sent: UInt64, repeated: UInt64, expected: [UInt64]
  ) throws {
    #expect(
      try Self.payload(
        Self.message(acknowledged: acknowledged, received: received, sent: sent, repeated: repeated)) == expected)
  }

  private static let states: [(Int, UInt64)] = [
    (TCP_ESTABLISHED, 1_000), (TCP_FIN_WAIT1, 1_000), (TCP_FIN_WAIT2, 1_000), (TCP_CLOSE_WAIT, 999),
    (TCP_LAST_ACK, 999), (TCP_CLOSING, 999),
  ]

  @Test(arguments: states)
  func `while it is open, its state says whether the other side has ended`(state: Int, received: UInt64) throws {
    let message = Self.message(isEnd: false, state: state, acknowledged: 102, received: 1_000, sent: 100)
    #expect(try Self.payload(message) == [received, 100])
  }

  @Test func `a kernel that does not say what was sent`() throws {
    #expect(try Self.payload(Self.message(acknowledged: 102, received: 1_001, infoLength: 160)) == [1_000, 100])
    let open = Self.message(isEnd: false, state: TCP_ESTABLISHED, acknowledged: 101, received: 7, infoLength: 160)
    #expect(try Self.payload(open) == [7, 100])
    #expect(try Self.payload(Self.message(acknowledged: 1, received: 7, infoLength: 100)) == [0, 0])
  }

  @Test func `an end is one whatever its state, and a list has none`() throws {
    guard case .ended(let connection) = Self.decode(Self.message()) else { throw TestFailure("no end") }
    #expect(connection.facts.cookie == 4_711)
    #expect(connection.facts.user == 1_000)
    #expect(connection.remote == .v4(0x0a00_0002))
    #expect(Self.decode(Self.message(isEnd: false)) == .ignored)
  }

  @Test(arguments: [
    (AF_INET, "127.0.0.1", false), (AF_INET, "127.255.0.9", false), (AF_INET, "10.0.0.127", true),
    (AF_INET, "128.0.0.1", true), (AF_INET6, "::1", false), (AF_INET6, "::2", true), (AF_INET6, "2001:db8::1", true),
    (AF_INET6, "::ffff:127.0.0.1", false), (AF_INET6, "::ffff:10.0.0.1", true), (AF_INET6, "fe80::1", true),
  ])
  func `the filter keeps back loopback alone`(family: CInt, address: String, passes: Bool) throws {
    let filter = FilterInterpreter(program: ConnectionEnds.exceptLoopback)
    var bits: InternetAddress? = InternetAddress(address)
    if address == "::ffff:127.0.0.1" { bits = .v6(0xffff_7f00_0001) }
    if address == "::ffff:10.0.0.1" { bits = .v6(0xffff_0a00_0001) }
    let message = Self.message(family: family, remote: try #require(bits))
    #expect((try #require(filter.run(message)) > 0) == passes)
  }

  @Test func `no bytes make the decoder trap`() {
    var random = SplitMix(seed: 2_026)
    let whole = Self.message(acknowledged: 102, received: 1_001, sent: 100)
    for _ in 0..<20_000 {
      var bytes = Array(whole.prefix(Int.random(in: 0...whole.count, using: &random)))
      for _ in 0..<Int.random(in: 0..<12, using: &random) where !bytes.isEmpty {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      _ = Self.decode(bytes)
    }
    for _ in 0..<20_000 {
      _ = Self.decode(
        (0..<Int.random(in: 0..<500, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
    }
  }
}
