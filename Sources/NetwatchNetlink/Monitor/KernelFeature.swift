/// A feature of the kernel that netwatch uses if it is present.
package enum KernelFeature: String, Hashable, Sendable, CaseIterable {
  /// SO_ATTACH_FILTER: a filter that drops messages before they wake netwatch.
  case socketFilter
  /// NETLINK_GET_STRICT_CHK: strict checking of requests, since Linux 4.20.
  case strictChecking
  /// RTNLGRP_NEXTHOP: events about next-hop objects, since Linux 5.3.
  case nextHopEvents
  /// RTNLGRP_NEIGH: events about neighbours.
  case neighbourEvents
  /// Generic netlink with nl80211: data about WiFi networks.
  case wireless

  /// A sentence for people that tells what does not work without the feature.
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
