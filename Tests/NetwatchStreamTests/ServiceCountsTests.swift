import Testing

@testable import NetwatchStream

/// The words for what a service counts.
@Suite struct ServiceCountsTests {
  @Test func `each set of counts is written as words, and read in any order`() {
    typealias Counts = ServiceIdentity.Counts
    for bits: UInt8 in 1...7 {
      let counts = Counts(rawValue: bits)
      #expect(Counts(counts.text) == counts, "\(counts.text)")
    }
    #expect(Counts.all.text == "all" && Counts([.tcp, .udp]).text == "tcp,udp")
    #expect(Counts("udp,tcp") == [.tcp, .udp] && Counts("tcp,requests") == .all && Counts("all,tcp") == .all)
    for wrong in ["", ",", "tcp,", "tcp, udp", "TCP", "quic"] { #expect(Counts(wrong) == nil, "\(wrong)") }
  }
}
