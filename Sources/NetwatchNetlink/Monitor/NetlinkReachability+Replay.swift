extension NetlinkReachability {
  /// Does again what was done when the trace was recorded, from its first turn on and without a pause. ``start()`` has
  /// played what stands before.
  ///
  /// Returns at the end of the trace, at its first fault, or when `isEnough`.
  ///
  /// - Parameters:
  ///   - sample: reads the counters of links; nil where nobody wants to know them.
  ///   - look: looks at the TCP connections, for the quality of the link; nil where nobody wants to know it.
  package func replay(
    _ player: TracePlayer, until isEnough: () -> Bool, sample: (() -> Void)? = nil, look: (() -> Void)? = nil
  ) {
    while !isEnough(), let cause = player.nextCause() {
      switch cause {
      case .start: resync()
      case .turn(.event): source.readEvents()
      case .turn(.wirelessEvent): source.readRadios()
      case .turn: player.refuse(needing: "a turn of a socket that there is")
      case .timer(let timer):
        guard isArmed(timer) else { return player.refuse(needing: "something else than a timer that is not set") }
        fire(timer)
      case .resumed: source.resume()
      case .resolved(let addresses): receive(resolved: addresses)
      case .sampling:
        guard let sample else {
          return player.refuse(needing: "something else than counters, which were not asked for,")
        }
        sample()
      case .signal: sampleSignal()
      case .leases: source.readLeases()
      case .quality:
        guard let look else {
          return player.refuse(needing: "something else than connections, which were not asked for,")
        }
        look()
      case .unresolved: receive(resolved: nil)
      }
    }
  }
}
