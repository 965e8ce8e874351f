import CLibNetlink
import Netwatch

/// Decodes the rules that choose the routing table, from a list.
extension NetlinkDecoder {
  /// struct fib_rule_hdr: family, dst_len, src_len, tos, table, two reserved bytes, action, flags (4).
  private static let ruleHeaderLength = 12
  /// FRA_DSCP and FRA_FLOWLABEL, which older headers do not name.
  private static let (differentiatedServices, flowLabel) = (25, 26)

  static func rule(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    guard payload.count >= ruleHeaderLength else { return .ignored }
    let start = payload.lowerBound
    var rule = RoutingRule()
    rule.action = bytes.load(start + 7, as: UInt8.self)
    rule.isInverted = bytes.load(start + 8, as: UInt32.self) & UInt32(FIB_RULE_INVERT) != 0
    // A destination, or a type of service. The destination could be compared with ours, but that is not worth the effort.
    rule.hasOtherSelectors = [1, 3].contains { bytes.load(start + $0, as: UInt8.self) != 0 }
    let (family, sourceLength) = (bytes.load(start, as: UInt8.self), bytes.load(start + 2, as: UInt8.self))
    var table = UInt32(bytes.load(start + 4, as: UInt8.self))

    bytes.forEachAttribute(in: (start + ruleHeaderLength)..<payload.upperBound) { type, value in
      switch type {
      case Int(FRA_TABLE): table = bytes.number(value, as: UInt32.self) ?? table
      case Int(FRA_PRIORITY): rule.priority = bytes.number(value, as: UInt32.self) ?? 0
      case Int(FRA_FWMARK): rule.mark = bytes.number(value, as: UInt32.self) ?? 0
      case Int(FRA_FWMASK): rule.markMask = bytes.number(value, as: UInt32.self) ?? .max
      case Int(FRA_SUPPRESS_PREFIXLEN):
        // If all bits are set, nothing is suppressed.
        rule.suppressedPrefixLength = bytes.number(value, as: Int32.self).flatMap { $0 < 0 ? nil : $0 }
      case Int(FRA_UID_RANGE): rule.users = users(bytes, value)
      case Int(FRA_SRC) where sourceLength > 0:
        rule.source = ipAddress(bytes, value, family: family).map { .init(address: $0, prefixLength: sourceLength) }
      case Int(FRA_IIFNAME), Int(FRA_OIFNAME), Int(FRA_IP_PROTO), Int(FRA_SPORT_RANGE), Int(FRA_DPORT_RANGE),
        Int(FRA_TUN_ID), Int(FRA_L3MDEV), Int(FRA_SRC), Int(FRA_DST):
        // A zero selects nothing; some kernels send it in every rule.
        if value.contains(where: { bytes.load($0, as: UInt8.self) != 0 }) { rule.hasOtherSelectors = true }
      // The kernel sends these only if they select, and a zero also selects.
      case differentiatedServices, flowLabel: rule.hasOtherSelectors = true
      default: break
      }
    }
    if sourceLength > 0, rule.source == nil { rule.hasOtherSelectors = true }
    if rule.action == UInt8(FR_ACT_TO_TBL) { rule.table = table }
    return .rule(rule)
  }

  /// struct fib_rule_uid_range: first, last.
  private static func users(_ bytes: RawSpan, _ range: Range<Int>) -> ClosedRange<UInt32>? {
    guard range.count >= 8 else { return nil }
    let first = bytes.load(range.lowerBound, as: UInt32.self)
    let last = bytes.load(range.lowerBound + 4, as: UInt32.self)
    return first <= last && !(first == 0 && last == .max) ? first...last : nil
  }
}
