/// What says that a WiFi network is metered, as that of a phone's hotspot is.
package enum MeteredMark: Hashable, Sendable {
  /// The access point sends Microsoft's network cost element, with a cost other than "unrestricted".
  case networkCost
  /// The access point sends the element by which Apple's systems recognize a personal hotspot.
  case personalHotspot
  /// The DHCP server of the network has said ANDROID_METERED, as that of an Android phone does.
  case lease
}
