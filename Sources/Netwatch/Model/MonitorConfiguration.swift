/// How a monitor judges and publishes.
public struct MonitorConfiguration: Sendable {
  /// What has to be reachable. Default: the internet.
  public var target: NetworkTarget = .internet
  /// How long a loss must last before it is published. Default zero: at once. Counted from the first loss, so that
  /// flapping cannot put it off; good news never waits.
  public var hold: Duration = .zero
  /// Whether an address of 169.254/16 will do. Default false.
  public var allowsLinkLocalIPv4 = false
  /// Decides by name which links are modems though nothing else says so, as one behind pppd. Default nil: none.
  public var isModem: (@Sendable (_ name: String) -> Bool)?
  /// Decides by name which links are tunnels, such as `ppp0` of a VPN by pppd, which looks like a DSL line. Default nil:
  /// those whose kind says so.
  public var isTunnel: (@Sendable (_ name: String) -> Bool)?
  /// Decides which links may cost money, where the monitor is wrong about one: by the name of the link and of the wireless
  /// network that it has joined. What this leaves nil, and every link while this is nil, the monitor judges by itself.
  public var isExpensive: (@Sendable (_ interface: String, _ network: SSID?) -> Bool?)?
  /// How long the addresses of a host are good before they are asked for again, at least a second. Default 60 seconds.
  public var resolutionInterval: Duration = .seconds(60)
  /// Whether a change of ``NetworkPath/interfaces`` alone is published too. Default false.
  public var publishesInterfaceChanges = false
  /// What is told of the WiFi network that carries the traffic, beside its name and the signal at each change of the path.
  /// Default: nothing.
  public var wifi = WiFiReporting()
  /// Decides by name which links are treated as if they were not there, beneath tunnels, bonds and bridges too. Default nil:
  /// none.
  public var ignoresInterface: (@Sendable (_ name: String) -> Bool)?
  /// Decides by name which links traffic may leave by. What lies beneath them is not asked. Default nil: all.
  public var includesInterface: (@Sendable (_ name: String) -> Bool)?

  /// Whether a process may be started that asks the system for a host name that no name server knows. Default true.
  package var startsProcesses = true

  public init() {}
}
