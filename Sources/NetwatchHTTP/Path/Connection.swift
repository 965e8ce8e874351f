import Netwatch

/// The two ends of a connection of a session. If there is a proxy, the peer is the proxy.
struct Connection: Hashable, Sendable {
  let local: IPAddress
  let localPort: UInt16
  let peer: IPAddress
  let peerPort: UInt16
  /// The index of the interface that link-local addresses belong to. 0 for other addresses, or if it is not known.
  var scope: Int32 = 0

  /// Whether both ends are the same, without regard to the interface.
  func hasEnds(of other: Connection) -> Bool {
    local == other.local && localPort == other.localPort && peer == other.peer && peerPort == other.peerPort
  }
}

/// The kernel's answer about the route to a peer.
enum PeerRoute: Hashable, Sendable {
  /// Packets leave by the interface with this index, which has a carrier, or they stay on this machine.
  case link(Int32)
  /// There is no route, or its interface has no carrier.
  case none
  /// The local address is no longer assigned to this machine.
  case localAddressGone
  /// The kernel has not answered.
  case unknown
}
