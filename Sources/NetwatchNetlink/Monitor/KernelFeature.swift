/// What netwatch uses of the kernel and does without.
package enum KernelFeature: String, Hashable, Sendable, CaseIterable {
  /// SO_ATTACH_FILTER.
  case socketFilter
  /// NETLINK_GET_STRICT_CHK, since Linux 4.20.
  case strictChecking
  /// RTNLGRP_NEXTHOP, since Linux 5.3.
  case nextHopEvents
  /// RTNLGRP_NEIGH.
  case neighbourEvents
  /// Generic netlink.
  case wireless

  /// What is lost without it, for a person.
  package var loss: String {
    switch self {
    case .socketFilter: "no socket filter here: every change of a route wakes netwatch, also those that do not matter"
    case .strictChecking:
      "no strict checking of requests here: what carries a tunnel that has replaced the default route may stay unknown"
    case .nextHopEvents: "no events about next hops here: a change of a next-hop object is noticed with the next event"
    case .neighbourEvents:
      "no events about neighbours here: another IPv6 router in place of a dead one is noticed with the next event"
    case .wireless: "no nl80211 here: the name and the signal of a WiFi network are not known"
    }
  }
}
