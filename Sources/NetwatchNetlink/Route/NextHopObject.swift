import Netwatch

/// A next-hop object (`ip nexthop`), or a group of them.
struct NextHopObject: Hashable, Sendable {
  var interfaceIndex: Int32 = 0
  var gateway: IPAddress?
  /// The numbers of a group's members.
  var members: [UInt32] = []
  var isBlackhole = false
}
