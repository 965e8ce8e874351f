import Testing

@testable import NetwatchNetlink

/// The files /proc/net/snmp and /proc/net/snmp6, whole and broken.
@Suite struct DatagramTotalsTests {
  /// The files as Linux 6.18 wrote them, without the other protocols.
  private static let ipv4 = """
    IcmpMsg: InType3 OutType3
    IcmpMsg: 253 253
    Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
    Udp: 327729 253 0 418782 0 0 0 0 0
    UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
    UdpLite: 5 0 0 6 0 0 0 0 0
    """
  private static let ipv6 = """
    Icmp6InMsgs                     \t9
    Udp6InDatagrams                 \t10
    Udp6NoPorts                     \t11
    Udp6OutDatagrams                \t20
    UdpLite6InDatagrams             \t30
    """

  @Test func `both families are added up`() {
    let totals = DatagramTotals(ipv4: Self.ipv4, ipv6: Self.ipv6)
    #expect(totals?.received == 327_739 && totals?.sent == 418_802)
    #expect(DatagramTotals(ipv4: Self.ipv4, ipv6: "")?.received == 327_729)
    #expect(DatagramTotals.now != nil)
  }

  @Test func `without UDP it is not known`() {
    #expect(DatagramTotals(ipv4: "", ipv6: Self.ipv6) == nil)
    #expect(DatagramTotals(ipv4: "Udp: InDatagrams OutDatagrams\nUdp: 1", ipv6: "") == nil)
    #expect(DatagramTotals(ipv4: "Udp: InDatagrams\nUdp: 18446744073709551616", ipv6: "")?.received == 0)
    let most = DatagramTotals(ipv4: "Udp: InDatagrams\nUdp: 18446744073709551615", ipv6: "Udp6InDatagrams 1")
    #expect(most?.received == 0)
  }
}
