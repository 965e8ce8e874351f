/// In which of five steps a WiFi signal is. One that wavers at the edge of a step stays where it was. Pure.
package struct SignalSteps: Sendable {
  /// In dBm. No standard has such steps: this is each fifth of ``WiFiSignal/percent``.
  private static let edges = [-90, -80, -70, -60]
  /// How far beyond an edge it has to be, in decibels: more than the noise of a machine that stands still.
  private static let hysteresis = 3

  /// From 0 to 4; nil while no signal is known.
  private var step: Int?

  package init() {}

  /// The signal is in this step now, near an edge or not: whoever is told, is told all.
  package mutating func restart(at signal: WiFiSignal?) {
    step = signal.map { Self.edges(passedBy: $0.dBm) }
  }

  /// - Returns: whether the signal is in another step now.
  package mutating func handle(_ signal: WiFiSignal) -> Bool {
    guard let step else {
      restart(at: signal)
      return true
    }
    let (least, most) = (
      Self.edges(passedBy: signal.dBm - Self.hysteresis), Self.edges(passedBy: signal.dBm + Self.hysteresis)
    )
    let next = min(max(step, least), most)
    self.step = next
    return next != step
  }

  private static func edges(passedBy power: Int) -> Int { edges.count { power >= $0 } }
}
