import CLibNetlinkGeneric

/// Where nl80211's news of an association carries keys: with FILS, an access point's master key comes to every listener.
enum WirelessKeys {
  private static let messageHeader = 16
  private static let genericHeader = 4
  private static let attributes: Set<Int> = [
    Int(NL80211_ATTR_PMK.rawValue), Int(NL80211_ATTR_PMKID.rawValue), Int(NL80211_ATTR_PMKR0_NAME.rawValue),
    Int(NL80211_ATTR_FILS_KEK.rawValue), Int(NL80211_ATTR_KEY_DATA.rawValue), Int(NL80211_ATTR_KEY.rawValue),
    Int(NL80211_ATTR_KEYS.rawValue), Int(NL80211_ATTR_REKEY_DATA.rawValue),
  ]

  static func places(in datagram: RawSpan) -> [Range<Int>] {
    var places: [Range<Int>] = []
    var messages = NetlinkCursor(0..<datagram.byteCount)
    while messages.hasRoom(for: messageHeader) {
      let start = messages.offset
      let length = Int(datagram.load(start, as: UInt32.self))
      guard let message = messages.next(length: length, header: messageHeader + genericHeader) else { break }
      var cursor = NetlinkCursor((start + messageHeader + genericHeader)..<message.upperBound)
      while let attribute = cursor.nextAttribute(in: datagram) {
        if attributes.contains(attribute.type) { places.append(attribute.value) }
      }
    }
    return places
  }
}
