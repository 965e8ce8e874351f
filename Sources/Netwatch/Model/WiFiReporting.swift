/// What is told of the WiFi network that carries the traffic, beside its name and the signal at each change of the path.
public struct WiFiReporting: Hashable, Sendable {
  /// Which changes of the signal are published. The kernel tells of none, so the driver is asked every 5 seconds while a WiFi
  /// network carries the traffic.
  public enum SignalChanges: String, Hashable, Sendable, CaseIterable {
    /// One in 5 steps, of 10 dB each: below -90 dBm, from -90, from -80, from -70, from -60. A signal at the edge of a step
    /// has to be 3 dB beyond it.
    case steps
    /// Each one.
    case all = "dbm"

    /// Whether a signal is to be told to somebody who was told another one last, or none.
    package func hasNews(_ signal: WiFiSignal, after told: WiFiSignal?) -> Bool {
      switch self {
      case .steps: told.map(signal.isInAnotherStep) ?? true
      case .all: signal != told
      }
    }
  }

  /// Default nil: no change of the signal alone is published.
  public var signal: SignalChanges?
  /// Whether a path has the frequency and the rates of the connection. Default false.
  public var includesDetails = false
  /// Whether a path has the address of the access point, which tells where the machine is. Default false.
  public var includesAccessPoint = false

  public init() {}

  /// Whether anybody wants to know anything. Then a roam to another access point of the same network is published, too.
  package var isWanted: Bool { self != WiFiReporting() }

  /// What both ask for.
  package func union(_ other: WiFiReporting) -> WiFiReporting {
    var union = self
    union.signal = signal == .all || other.signal == .all ? .all : signal ?? other.signal
    union.includesDetails = includesDetails || other.includesDetails
    union.includesAccessPoint = includesAccessPoint || other.includesAccessPoint
    return union
  }

  /// As much of a connection as was asked for.
  package func part(of connection: WiFiConnection) -> WiFiConnection {
    var part = connection
    if !includesDetails { (part.frequency, part.receiveRate, part.transmitRate) = (nil, nil, nil) }
    if !includesAccessPoint { part.accessPointAddress = nil }
    return part
  }
}

extension WiFiSignal {
  /// Between the steps, in dBm. No standard has such steps: each is a fifth of ``percent``.
  private static let edges = [-90, -80, -70, -60]
  /// How far beyond an edge another step begins, in decibels: more than the noise of a machine that stands still.
  private static let hysteresis = 3

  fileprivate func isInAnotherStep(than told: WiFiSignal) -> Bool {
    Self.edges.contains { edge in
      told.dBm < edge ? dBm >= edge + Self.hysteresis : dBm < edge - Self.hysteresis
    }
  }
}
