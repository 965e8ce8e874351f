import CLibNetlink
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

@Suite struct RuleDecodingTests {
  static func rule(_ bytes: [UInt8]) -> RoutingRule? {
    guard case .rule(let rule) = Decoding.messages(bytes, as: .answer).first else { return nil }
    return rule
  }

  static func expected(_ priority: UInt32, _ rule: RoutingRule, _ change: (inout RoutingRule) -> Void = { _ in })
    -> RoutingRule
  {
    var rule = rule
    rule.priority = priority
    change(&rule)
    return rule
  }

  @Test func `rules that a kernel has listed are decoded`() {
    #expect(Self.rule(Corpus.ruleLocal) == Self.expected(0, .table(255)))
    #expect(
      Self.rule(Corpus.ruleFromLink)
        == Self.expected(100, .table(77)) { rule in
          rule.hasOtherSelectors = true
          rule.source = .init(address: .ip("10.1.0.0"), prefixLength: 16)
        })
    #expect(Self.rule(Corpus.rulePort) == Self.expected(101, .table(78)) { $0.hasOtherSelectors = true })
    #expect(Self.rule(Corpus.ruleDestination) == Self.expected(103, .table(79)) { $0.hasOtherSelectors = true })
    #expect(Self.rule(Corpus.ruleOutput) == Self.expected(104, .table(80)) { $0.hasOtherSelectors = true })
    #expect(Self.rule(Corpus.ruleMarked) == Self.expected(5210, .mark(0x80000)) { $0.markMask = 0xff0000 })
    #expect(Self.rule(Corpus.ruleUsers) == Self.expected(32762, .table(100)) { $0.users = 1000...1999 })
    #expect(Self.rule(Corpus.ruleSuppress) == Self.expected(32764, .table(254, suppressing: 0)))
    // The table's number needs more than the eight bits of the header.
    #expect(Self.rule(Corpus.ruleUnlessMarked) == Self.expected(32765, .unlessMark(51820, table: 51820)))
    #expect(Self.rule(Corpus.ruleUnlessMarkedIPv6) == Self.rule(Corpus.ruleUnlessMarked))
  }

  @Test func `actions that look nothing up have no table`() throws {
    let goto = try #require(Self.rule(Corpus.ruleGoto))
    #expect((goto.table, Int(goto.action)) == (nil, FR_ACT_GOTO))
    let prohibit = try #require(Self.rule(Corpus.ruleProhibit))
    #expect((prohibit.table, Int(prohibit.action), prohibit.users) == (nil, FR_ACT_PROHIBIT, 65534...65534))
    let unreachable = try #require(Self.rule(Corpus.ruleUnreachable))
    #expect((unreachable.table, Int(unreachable.action), unreachable.mark) == (nil, FR_ACT_UNREACHABLE, 0x80000))
    let vrf = try #require(Self.rule(Corpus.ruleVRF))
    #expect((vrf.hasOtherSelectors, vrf.priority) == (true, 1000))
  }

  // MARK: Messages that follow the kernel's headers

  static func built(
    action: Int = FR_ACT_TO_TBL, table: UInt8 = 254, flags: UInt32 = 0, lengths: [UInt8] = [0, 0, 0],
    _ attributes: (type: Int, value: [UInt8])...
  ) -> RoutingRule? {
    var message = MessageBuilder(type: RTM_NEWRULE)
    message.append([UInt8(AF_INET)] + lengths + [table, 0, 0, UInt8(action)] + MessageBuilder.raw(flags))
    for (type, value) in attributes { message.attribute(type, value) }
    return rule(message.bytes)
  }

  @Test func `a table is in the header where no attribute says more`() {
    #expect(Self.built(table: 77)?.table == 77)
    #expect(Self.built(table: 252, (FRA_TABLE, MessageBuilder.raw(UInt32(1 << 20))))?.table == 1 << 20)
    #expect(Self.built(table: 77, (FRA_TABLE, [1]))?.table == 77)
  }

  @Test func `a source, a destination or a type of service selects`() {
    #expect(Self.built()?.hasOtherSelectors == false)
    for position in 0..<3 {
      var lengths: [UInt8] = [0, 0, 0]
      lengths[position] = 24
      #expect(Self.built(lengths: lengths)?.hasOtherSelectors == true)
    }
  }

  @Test func `a source is read with the length of its network`() {
    let source = (FRA_SRC, [10, 1, 2, 0] as [UInt8])
    let rule = Self.built(lengths: [0, 24, 0], source)
    #expect(rule?.source == .init(address: .ip("10.1.2.0"), prefixLength: 24))
    #expect(rule?.hasOtherSelectors == false)
    #expect(Self.built(lengths: [0, 24, 0], (FRA_SRC, [10, 1]))?.source == nil)
  }

  @Test(arguments: [
    FRA_IIFNAME, FRA_OIFNAME, FRA_IP_PROTO, FRA_SPORT_RANGE, FRA_DPORT_RANGE, FRA_TUN_ID, FRA_L3MDEV, FRA_SRC, FRA_DST,
  ])
  func `a rule with any other condition has other selectors`(_ type: Int) {
    #expect(Self.built((type, [0, 0, 0, 7]))?.hasOtherSelectors == true)
    // A value of zero selects nothing.
    #expect(Self.built((type, [0, 0, 0, 0]))?.hasOtherSelectors == false)
    #expect(Self.built((type, []))?.hasOtherSelectors == false)
  }

  @Test(arguments: [
    (UInt32(1000), UInt32(1999), ClosedRange<UInt32>?(1000...1999)), (5, 5, 5...5), (0, .max, nil), (0, 0, 0...0),
    (7, 6, nil), (.max, .max, .max ... .max), (1, .max, 1 ... .max),
  ])
  func `a range of users is read`(_ first: UInt32, _ last: UInt32, _ users: ClosedRange<UInt32>?) {
    let value = MessageBuilder.raw(first) + MessageBuilder.raw(last)
    #expect(Self.built((FRA_UID_RANGE, value))?.users == users)
    #expect(Self.built((FRA_UID_RANGE, value.dropLast()))?.users == nil)
  }

  @Test(arguments: [(Int32(-1), Int32?.none), (0, 0), (16, 16), (.min, nil)])
  func `which prefixes are suppressed`(_ length: Int32, _ suppressed: Int32?) {
    #expect(Self.built((FRA_SUPPRESS_PREFIXLEN, MessageBuilder.raw(length)))?.suppressedPrefixLength == suppressed)
  }

  @Test func `inversion is one flag of several`() {
    #expect(Self.built(flags: UInt32(FIB_RULE_INVERT))?.isInverted == true)
    #expect(Self.built(flags: ~UInt32(FIB_RULE_INVERT))?.isInverted == false)
  }

  @Test func `rules are answers; when nobody asked they are but a hint`() {
    #expect(Decoding.messages(Corpus.ruleUsers) == [.event(.rules(.ipv4, isRemoval: false))])
    #expect(Decoding.messages(Corpus.ruleUnlessMarkedIPv6) == [.event(.rules(.ipv6, isRemoval: false))])
  }

  @Test func `a header that is cut is none`() {
    for count in 0..<12 {
      var message = MessageBuilder(type: RTM_NEWRULE)
      message.append([UInt8](repeating: 2, count: count))
      #expect(Decoding.messages(message.bytes, as: .answer) == [.ignored])
    }
  }
}
