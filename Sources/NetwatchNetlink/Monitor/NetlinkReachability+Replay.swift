import Netwatch
import NetwatchEventLoop

extension NetlinkReachability {
  /// Repeats the work that was done when the trace was recorded, from its first turn on and without pauses. ``start()`` has
  /// already played the part before.
  ///
  /// Returns at the end of the trace, at its first fault, or when `isEnough` returns true.
  ///
  /// - Parameters:
  ///   - player: The player of the trace.
  ///   - isEnough: The closure that returns whether to stop.
  ///   - sample: The closure that reads the counters of links; nil if traffic was not asked for.
  ///   - look: The closure that samples the TCP connections for the link's quality; nil if quality was not asked for.
  ///   - found: The closure that gets what was found out apart from netlink, and when. Default: nil, nothing is expected.
  package func replay(
    _ player: TracePlayer, until isEnough: () -> Bool, sample: (() -> Void)? = nil, look: (() -> Void)? = nil,
    found: ((ReachabilityReason, EventTimestamp) -> Void)? = nil
  ) {
    while !isEnough(), let cause = player.nextCause() {
      switch cause {
      case .start: resync()
      case .turn(.event): source.readEvents()
      case .turn(.wirelessEvent): source.readRadios()
      case .turn: player.refuse(needing: "an event of a socket that is open")
      case .timer(let timer):
        guard isArmed(timer) else { return player.refuse(needing: "a timer that is set") }
        fire(timer)
      case .resumed: source.resume()
      case .resolved(let addresses): receive(resolved: addresses)
      case .sampling:
        guard let sample else {
          return player.refuse(needing: "something other than counters")
        }
        sample()
      case .signal: sampleSignal()
      case .leases: source.readLeases()
      case .quality:
        guard let look else {
          return player.refuse(needing: "something other than connections")
        }
        look()
      case .unresolved: receive(resolved: nil)
      case .found(let reason):
        guard let found else {
          return player.refuse(needing: "something of netlink")
        }
        source.touchMoment(because: cause)
        found(reason, source.moment)
      }
    }
  }
}
