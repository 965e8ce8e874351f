import CLibNetlink
import NetlinkWire

extension WirelessDecoder {
  private static let secrets: Set<Int> = [
    Int(NL80211_ATTR_PMK.rawValue), Int(NL80211_ATTR_PMKID.rawValue), Int(NL80211_ATTR_PMKR0_NAME.rawValue),
    Int(NL80211_ATTR_FILS_KEK.rawValue), Int(NL80211_ATTR_KEY_DATA.rawValue), Int(NL80211_ATTR_KEY.rawValue),
    Int(NL80211_ATTR_KEYS.rawValue), Int(NL80211_ATTR_REKEY_DATA.rawValue),
  ]

  /// Returns the positions of keys in a message about an association. With FILS, an access point's master key is sent to every
  /// listener.
  static func placesOfKeys(in datagram: RawSpan) -> [Range<Int>] {
    var places: [Range<Int>] = []
    NetlinkMessage.forEach(in: datagram) { frame in
      datagram.forEachAttribute(in: frame.payload.dropFirst(genericHeaderLength)) { type, value in
        if secrets.contains(type) { places.append(value) }
      }
    }
    return places
  }
}
