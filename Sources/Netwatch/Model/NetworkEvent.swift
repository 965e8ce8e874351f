/// One fact from the kernel, or one hint.
///
/// Links and addresses are facts. Routes and rules are hints that a lookup may answer differently now: the kernel drops
/// IPv4 routes without a word, so nobody can keep a list of them.
///
/// What is large and rare lies beside it: hints about routes go through here a hundred times as often as links.
package enum NetworkEvent: Hashable, Sendable {
  indirect case link(LinkFact)
  case linkRemoved(index: Int32)
  /// What nl80211 says of a link; nil if it is no radio's.
  indirect case wireless(index: Int32, WirelessLink?)
  /// Whether the DHCP lease of an address of a WiFi link says that the network is metered.
  case lease(index: Int32, isMetered: Bool)
  case address(index: Int32, InterfaceAddress)
  case addressRemoved(index: Int32, IPAddress, prefixLength: UInt8)
  /// A router answers no more, or again.
  indirect case neighbour(Neighbour, isReachable: Bool)
  /// `isRemoval`: something was taken away. The kernel may say so before it does it.
  case routing(AddressFamilies, isRemoval: Bool)
}

/// What one message says of a link. Absent attributes keep their values.
package struct LinkFact: Hashable, Sendable {
  package var index: Int32
  package var flags: UInt32
  package var hardwareType: UInt16
  /// It has all attributes, so that a missing master means none. Wireless events have not.
  package var isComplete = false
  package var name: InterfaceName?
  package var kind: String?
  package var operationalState: OperationalState?
  package var masterIndex: Int32?
  package var lowerIndex: Int32?
  /// What it stands on is in another network namespace.
  package var isCarriedElsewhere = false
  package var activePortIndex: Int32?
  package var remote: IPAddress?
  /// Its hardware address, up to eight bytes, to tell whether a sysfs entry is about the same link.
  package var hardwareAddress: UInt64?
  package var device: DeviceTraits?

  package init(index: Int32, flags: UInt32, hardwareType: UInt16) {
    self.index = index
    self.flags = flags
    self.hardwareType = hardwareType
  }
}
