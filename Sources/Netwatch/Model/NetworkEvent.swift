/// One fact from the kernel, or one hint.
///
/// Links and addresses are facts. Routes and rules are hints that a lookup may answer differently now. The kernel drops IPv4
/// routes without announcing it, so a list of them cannot be kept.
///
/// Large and rare values are stored indirectly: hints about routes are a hundred times as frequent as links.
package enum NetworkEvent: Hashable, Sendable {
  indirect case link(LinkUpdate)
  case linkRemoved(index: Int32)
  /// What nl80211 reports about a link. Nil if the link belongs to no radio.
  indirect case wireless(index: Int32, WirelessLink?)
  /// Whether the DHCP lease of an address of a WiFi link marks the network as metered.
  case lease(index: Int32, isMetered: Bool)
  case address(index: Int32, InterfaceAddress)
  case addressRemoved(index: Int32, InternetAddress, prefixLength: UInt8)
  /// A router does not answer any more; or it answers, or the kernel has forgotten that it did not.
  indirect case neighbour(Neighbour, isDead: Bool)
  /// Routes have changed. `isRemoval`: something was taken away. The kernel can announce a removal before it happens.
  case routing(AddressFamilies, isRemoval: Bool)
  /// The rules that choose the routing table have changed, in the same way.
  case rules(AddressFamilies, isRemoval: Bool)
}

/// What one message reports about a link. Absent attributes keep their values.
package struct LinkUpdate: Hashable, Sendable {
  package var index: Int32
  package var flags: UInt32
  package var hardwareType: UInt16
  /// Whether the message has all attributes, so that a missing master means that there is none. Wireless events do not have
  /// all.
  package var isComplete = false
  package var name: InterfaceName?
  package var kind: String?
  package var operationalState: OperationalState?
  /// How often the link has lost its carrier, as the kernel counts since Linux 4.16.
  package var carrierLosses: UInt32?
  package var masterIndex: Int32?
  package var lowerIndex: Int32?
  /// Whether the link stands on a link in another network namespace.
  package var isCarriedElsewhere = false
  package var activePortIndex: Int32?
  package var remote: InternetAddress?
  /// The hardware address, up to eight bytes. It tells whether a sysfs entry is about the same link.
  package var hardwareAddress: UInt64?
  package var device: DeviceTraits?

  package init(index: Int32, flags: UInt32, hardwareType: UInt16) {
    self.index = index
    self.flags = flags
    self.hardwareType = hardwareType
  }
}
