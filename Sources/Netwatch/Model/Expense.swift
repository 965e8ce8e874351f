/// The reason why using a link may cost money.
///
/// Later versions can add values, so give a `switch` a `default`.
public enum Expense: String, Hashable, Sendable, CaseIterable {
  /// The link is a cellular modem.
  case modem
  /// The link is a Bluetooth device, which is a phone as a rule.
  case bluetooth
  /// The link is a phone or a modem on USB.
  case usb
  /// The access point of the WiFi network says so, as the hotspots of phones do.
  case beacon
  /// The DHCP lease of the WiFi network says so, as Android's hotspots do.
  case lease
  /// A rule of a person says so: an option, a file of rules, or ``MonitorConfiguration/isExpensive``.
  case rule
  /// Some of the links that may carry the traffic are expensive, or an older service does not give the reason.
  case unknown
}

/// What using a link costs: money, or something that a person wants to spare.
package struct LinkCost: Hashable, Sendable {
  /// The reason why the link may cost money; nil if nothing shows that it may.
  package var expense: Expense?
  /// Whether a rule asks to send little over the link.
  package var isConstrained = false

  package init(_ expense: Expense? = nil, isConstrained: Bool = false) {
    self.expense = expense
    self.isConstrained = isConstrained
  }

  /// Adds the cost of another link that the same traffic passes. The first reason stays.
  mutating func add(_ other: LinkCost) {
    expense = expense ?? other.expense
    isConstrained = isConstrained || other.isConstrained
  }
}

/// The mark that tells that a WiFi network is metered, such as a phone's hotspot.
package enum MeteredMark: Hashable, Sendable {
  /// The access point sends Microsoft's network cost element, with a cost other than "unrestricted".
  case networkCost
  /// The access point sends the element by which Apple's systems recognize a personal hotspot.
  case personalHotspot
  /// The network's DHCP server has sent ANDROID_METERED, as that of an Android phone does.
  case lease
}
