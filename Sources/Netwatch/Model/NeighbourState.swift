/// What the kernel's table of neighbours says of one, as far as it matters here (NUD_* of <linux/neighbour.h>).
package enum NeighbourState: Hashable, Sendable {
  /// NUD_REACHABLE: it was heard of lately.
  case reachable
  /// NUD_STALE, NUD_DELAY, NUD_PROBE: it was there once.
  case stale
  /// NUD_INCOMPLETE: the kernel asks for it.
  case incomplete
  /// NUD_FAILED: nobody has answered.
  case failed
  /// NUD_PERMANENT, NUD_NOARP: the kernel does not check it.
  case permanent
  /// There is no entry.
  case absent
}
