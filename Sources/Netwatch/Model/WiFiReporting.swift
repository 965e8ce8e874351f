/// What else is published about the WiFi network that carries the traffic. Each path has its name and its signal anyway.
public struct WiFiReporting: Hashable, Sendable {
  /// The changes of the signal that are published. The kernel announces none, so the driver is asked every 5 seconds while a
  /// WiFi network carries the traffic.
  public enum SignalChanges: String, Hashable, Sendable, CaseIterable {
    /// A change between 5 steps of 10 dB: below -90 dBm, from -90, from -80, from -70, from -60. The signal has to pass the
    /// edge of a step by 3 dB.
    case steps
    /// Every change.
    case all = "dbm"

    /// Returns whether a signal is published, given the one that was published last, or nil if none was.
    package func hasNews(_ signal: WiFiSignal, after told: WiFiSignal?) -> Bool {
      switch self {
      case .steps: told.map(signal.isInAnotherStep) ?? true
      case .all: signal != told
      }
    }
  }

  /// The changes of the signal that are published. Default: nil, so no path is published because of the signal alone.
  public var signal: SignalChanges?
  /// Whether a path includes the frequency and the rates of the connection. Default: false.
  public var includesDetails = false
  /// Whether a path includes the address of the access point, which reveals where the machine is. Default: false.
  public var includesAccessPoint = false

  /// Requests nothing.
  public init() {}

  /// Whether anything is requested. If so, a roam to another access point of the same network is also published.
  package var isWanted: Bool { self != WiFiReporting() }

  /// Returns everything that this or the other value requests.
  package func union(_ other: WiFiReporting) -> WiFiReporting {
    var union = self
    union.signal = signal == .all || other.signal == .all ? .all : signal ?? other.signal
    union.includesDetails = includesDetails || other.includesDetails
    union.includesAccessPoint = includesAccessPoint || other.includesAccessPoint
    return union
  }

  /// Returns the requested part of a connection.
  package func part(of connection: WiFiConnection) -> WiFiConnection {
    var part = connection
    if !includesDetails { (part.frequency, part.receiveRate, part.transmitRate) = (nil, nil, nil) }
    if !includesAccessPoint { part.accessPointAddress = nil }
    return part
  }
}

extension WiFiSignal {
  /// The edges between the steps, in dBm. No standard has such steps: each is a fifth of ``percent``.
  private static let edges = [-90, -80, -70, -60]
  /// The distance beyond an edge at which another step begins, in decibels: more than the noise of a machine that stands
  /// still.
  private static let hysteresis = 3

  fileprivate func isInAnotherStep(than told: WiFiSignal) -> Bool {
    Self.edges.contains { edge in
      told.dBm < edge ? dBm >= edge + Self.hysteresis : dBm < edge - Self.hysteresis
    }
  }
}
