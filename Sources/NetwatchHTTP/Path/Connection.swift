import Netwatch

/// The two ends of a TCP connection.
struct ConnectionEnds: Hashable, Sendable {
  let local: IPAddress
  let localPort: UInt16
  let peer: IPAddress
  let peerPort: UInt16
}

/// A connection of a session, as far as its route is concerned. The peer is the proxy, if there is one.
struct Connection: Hashable, Sendable {
  let ends: ConnectionEnds
  /// The index of the interface that link-local addresses belong to; 0 for other addresses.
  let scope: Int32
}

/// The kernel's answer about the route to a peer.
enum PeerRoute: Hashable, Sendable {
  /// Packets leave by the interface with this index, which has a carrier; or they stay on this machine.
  case link(Int32)
  /// There is no route, or its interface has no carrier.
  case none
  /// The local address is not assigned to this machine any more.
  case localAddressGone
  /// The kernel does not answer.
  case unknown
}
