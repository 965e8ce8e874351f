/// An address of an interface.
public struct InterfaceAddress: Hashable, Sendable {
  /// The address itself.
  public let address: IPAddress
  /// The number of leading bits of ``address`` that name the network.
  public let prefixLength: UInt8
  /// The flags IFA_F_* of <linux/if_addr.h>.
  package var flags: UInt32
  /// The destinations for which the address may be the source: RT_SCOPE_* of <linux/rtnetlink.h>.
  package var scope: UInt8
  var isListed = true

  package init(address: IPAddress, prefixLength: UInt8, flags: UInt32, scope: UInt8 = 0) {
    self.address = address
    self.prefixLength = prefixLength
    self.flags = flags
    self.scope = scope
  }

  // IFA_F_* of <linux/if_addr.h>.
  package static let optimisticFlag: UInt32 = 0x04
  package static let duplicateFlag: UInt32 = 0x08
  package static let deprecatedFlag: UInt32 = 0x20
  package static let tentativeFlag: UInt32 = 0x40
  /// The address has no end.
  static let permanentFlag: UInt32 = 0x80
  /// The flags that decide whether an address is usable.
  package static let relevantFlags = optimisticFlag | duplicateFlag | tentativeFlag

  /// Whether the address still serves open connections but is not the first choice for new ones. Router advertisements set
  /// and clear this.
  package var isDeprecated: Bool { flags & Self.deprecatedFlag != 0 }

  /// Whether the address has passed the check for duplicates, or is used before its end.
  private var isChecked: Bool {
    if flags & Self.duplicateFlag != 0 { return false }
    return flags & Self.tentativeFlag == 0 || flags & Self.optimisticFlag != 0
  }

  /// Returns whether the address can be the source of traffic that leaves the link.
  ///
  /// - Parameter scope: The scope of the traffic's route. IPv4 takes no address of a narrower scope by itself, but a route may
  ///   name one. Default: that of a route to a router, except for link-local addresses.
  package func isUsable(forRouteOf scope: UInt8? = nil, allowingLinkLocalIPv4: Bool) -> Bool {
    let widest = scope ?? (address.isLinkLocal ? .max : 0)
    return isChecked && address.isUsableSource(allowingLinkLocalIPv4: allowingLinkLocalIPv4)
      && (address.family == .ipv6 || self.scope <= widest)
  }
}

extension InterfaceAddress {
  /// Whether the address's network contains an address that would otherwise stand for the internet.
  var coversStandIn: Bool { Destinations.internet[address.family].dropLast().contains(where: covers) }

  /// Returns whether the address's network contains `other`. A prefix as short as a default route's contains nothing here.
  func covers(_ other: IPAddress) -> Bool {
    prefixLength > Destinations.defaultPrefixLength && address.shares(prefixLength, with: other)
  }
}

extension IPAddress {
  /// Returns whether traffic that leaves this machine can come from this address.
  package func isUsableSource(allowingLinkLocalIPv4: Bool) -> Bool {
    if isLoopback || isMulticast || isUnspecified { return false }
    guard isLinkLocal else { return true }
    return family == .ipv4 && allowingLinkLocalIPv4
  }
}
