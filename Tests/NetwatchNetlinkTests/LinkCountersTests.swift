import CLibNetlink
import Netwatch
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// The kernel's answer to RTM_GETSTATS, whole and broken.
@Suite struct LinkCountersTests {
  /// Returns a message as a kernel sends it: the family, padding, the index and the filter; then the counters, packets
  /// first.
  private static func message(type: UInt16 = UInt16(RTM_NEWSTATS), counters: [UInt64], attribute: UInt16 = 1) -> [UInt8]
  {
    func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
      unsafe withUnsafeBytes(of: number) { unsafe Array($0) }
    }
    let values = counters.flatMap { bytes($0) }
    let content =
      [0, 0, 0, 0] + bytes(UInt32(2)) + bytes(UInt32(1)) + bytes(UInt16(4 + values.count)) + bytes(attribute)
      + values
    return bytes(UInt32(16 + content.count)) + bytes(type) + bytes(UInt16(0)) + bytes(UInt32(7)) + bytes(UInt32(0))
      + content
  }

  private static func read(_ message: [UInt8]) -> [LinkCounters.Bytes?] {
    var found: [LinkCounters.Bytes?] = []
    let span = unsafe message.span.bytes
    NetlinkMessage.forEach(in: span) { found.append(LinkCounters.bytes($0, span)) }
    return found
  }

  @Test func `bytes stand behind packets`() {
    let whole = Self.message(counters: [11, 12, .max, 14] + [UInt64](repeating: 0, count: 20))
    #expect(Self.read(whole) == [LinkCounters.Bytes(received: .max, sent: 14, packetsReceived: 11, packetsSent: 12)])
  }

  @Test func `what is too short, or something else, is nothing`() {
    #expect(Self.read(Self.message(counters: [11, 12, 13])) == [nil])
    #expect(Self.read(Self.message(counters: [11, 12, 13, 14], attribute: 2)) == [nil])
    #expect(Self.read(Self.message(type: UInt16(RTM_NEWLINK), counters: [11, 12, 13, 14])) == [nil])
  }

  @Test func `no byte of an answer makes it trap`() {
    let whole = Self.message(counters: [11, 12, 13, 14])
    for _ in 0..<20_000 {
      var broken = whole
      for _ in 0..<Int.random(in: 1...4) { broken[Int.random(in: broken.indices)] = .random(in: 0...255) }
      broken.removeLast(.random(in: 0..<broken.count))
      #expect(Self.read(broken).count <= 4)
    }
  }
}
