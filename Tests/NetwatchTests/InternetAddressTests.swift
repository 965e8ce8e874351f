import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct InternetAddressTests {
  @Test(arguments: [
    ("2001:db8:0:0:0:0:2:1", "2001:db8::2:1"), ("2001:0db8::0001", "2001:db8::1"),
    ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
    ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("2001:DB8::AAAA", "2001:db8::aaaa"), ("0:0:0:0:0:0:0:0", "::"),
    ("::1", "::1"), ("1::", "1::"), ("fe80:0:0:0:1:2:3:4", "fe80::1:2:3:4"), ("1:2:3:4:5:6:7:0", "1:2:3:4:5:6:7:0"),
    ("1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"), ("0:0:3:4:5:6:7:8", "::3:4:5:6:7:8"),
    ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
    ("64:ff9b::c000:201", "64:ff9b::c000:201"), ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"),
    ("255.255.255.255", "255.255.255.255"),
  ])
  func `text is as RFC 5952 has it`(_ input: String, _ text: String) {
    #expect(InternetAddress(input)?.description == text)
  }

  @Test(arguments: [
    "", "192.0.2", "192.0.2.256", "192.0.2.1 ", " 192.0.2.1", "192.0.2.1/24", "fe80::1%eth0", "2001:db8::1::2", "1:2:3",
    "example.org", "12345::", "::ffff:300.0.0.1", "0x7f.1",
  ])
  func `other text is no address`(_ text: String) {
    #expect(InternetAddress(text) == nil)
  }

  @Test func `text is what inet_ntop writes, and reads back as the same address`() {
    var random = SplitMix(seed: 5)
    for round in 0..<20_000 {
      var bits = UInt128(random.next()) << 64 | UInt128(random.next())
      // Groups of zeros are rare in random numbers, so about half of the groups are set to zero.
      for group in 0..<8 where random.oneIn(2) { bits &= ~(UInt128(0xffff) << UInt128(16 * group)) }
      let v6 = InternetAddress.v6(bits)
      #expect(InternetAddress(v6.description) == v6)
      // glibc writes ::1.2.3.4 for addresses that RFC 4291 has long deprecated.
      if bits >> 32 != 0 || bits >> 16 == 0 { #expect(v6.description == reference(v6)) }
      let v4 = InternetAddress.v4(UInt32(truncatingIfNeeded: random.next()))
      #expect(InternetAddress(v4.description) == v4)
      #expect(v4.description == reference(v4))
      if v6.description != reference(v6), bits >> 32 != 0 { Issue.record("round \(round)") }
    }
  }

  private func reference(_ address: InternetAddress) -> String {
    var text = [CChar](repeating: 0, count: 64)
    switch address {
    case .v4(let bits):
      var raw = bits.bigEndian
      unsafe inet_ntop(AF_INET, &raw, &text, 64)
    case .v6(let bits):
      var raw = bits.bigEndian
      unsafe inet_ntop(AF_INET6, &raw, &text, 64)
    }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  @Test(arguments: [
    ("127.0.0.1", "loopback"), ("127.255.0.1", "loopback"), ("128.0.0.1", ""), ("::1", "loopback"), ("::2", ""),
    ("169.254.0.0", "link"), ("169.255.0.1", ""), ("fe80::1", "link"), ("febf:ffff::", "link"), ("fec0::", ""),
    ("fe7f::", ""), ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"), ("240.0.0.0", ""),
    ("ff02::1", "multicast"),
    ("feff::", ""), ("0.0.0.0", "unspecified"), ("::", "unspecified"), ("0.0.0.1", ""),
  ])
  func `kinds of addresses`(_ text: String, _ kind: String) {
    let address = InternetAddress.ip(text)
    #expect(address.isLoopback == (kind == "loopback"))
    #expect(address.isLinkLocal == (kind == "link"))
    #expect(address.isMulticast == (kind == "multicast"))
    #expect(address.isUnspecified == (kind == "unspecified"))
    #expect(address.family == (text.contains(":") ? .ipv6 : .ipv4))
  }
}
