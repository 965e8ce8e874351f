/// Recorded messages of rtnetlink, each with its header. The tests of the decoder read them, and the fuzzer changes
/// them.
enum Corpus {
  static let all: [[UInt8]] = [
    loopback, vethDown, vethUp, vethWithoutPeer, vethToElsewhere, emptyBridge, bridgePort, portOfBridgeFamily,
    portRemovedOfBridgeFamily, tun, linkRemoved, addressV4, addressV6, addressDeprecated, addressTentative,
    addressLinkLocal, addressRemovedV4, addressRemovedV6, routeAnswerV4, routeAnswerV6, fibMatch, multipathV4,
    multipathV6, errorNoRoute, errorUnreachable, errorBlackhole, errorProhibit, done, routeAddedV4, routeAddedV6,
    routeRemovedV6, routeRemovedV4, ruleAddedV4, ruleAddedV6, ruleRemovedV4, nexthopAdded, nexthopGroup,
    nexthopRemoved, netconfIgnoringLinkdown, netconfForwarding, netconfRemoved, vxlan, vxlanIPv6, gre, greWithoutLink,
    sit, wireguard, bond, ruleLocal, ruleFromLink, rulePort, ruleGoto, ruleDestination, ruleOutput, ruleMarked,
    ruleUnreachable, ruleUsers, ruleProhibit, ruleSuppress, ruleUnlessMarked, ruleUnlessMarkedIPv6, ruleVRF,
  ]

  /// Returns the bytes that hexadecimal digits stand for. All other characters are ignored.
  static func bytes(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
