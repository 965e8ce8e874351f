/// A machine on a link, as in the kernel's table of neighbours.
package struct Neighbour: Hashable, Sendable {
  package let interfaceIndex: Int32
  package let address: InternetAddress

  package init(interfaceIndex: Int32, address: InternetAddress) {
    self.interfaceIndex = interfaceIndex
    self.address = address
  }
}

/// The state of a neighbour in the kernel's table, as far as it matters here (NUD_* of <linux/neighbour.h>).
package enum NeighbourState: Hashable, Sendable {
  /// NUD_REACHABLE: the neighbour was heard from lately.
  case reachable
  /// NUD_STALE, NUD_DELAY, NUD_PROBE: the neighbour was there once.
  case stale
  /// NUD_INCOMPLETE: the kernel is asking for the neighbour.
  case incomplete
  /// NUD_FAILED: nothing has answered.
  case failed
  /// NUD_PERMANENT, NUD_NOARP: the kernel does not check the neighbour.
  case permanent
  /// The table has no entry.
  case absent
}
