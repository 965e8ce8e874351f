/// The mark that tells that a WiFi network is metered, such as a phone's hotspot.
package enum MeteredMark: Hashable, Sendable {
  /// The access point sends Microsoft's network cost element, with a cost other than "unrestricted".
  case networkCost
  /// The access point sends the element by which Apple's systems recognize a personal hotspot.
  case personalHotspot
  /// The network's DHCP server has sent ANDROID_METERED, as that of an Android phone does.
  case lease
}
