/// The settings of a ``NetworkMonitor``: what it judges, which links count, and what it publishes.
public struct MonitorConfiguration: Sendable {
  /// The target that has to be reachable. Default: the internet.
  public var target: NetworkTarget = .internet
  /// The time that a loss must last before it is published. Default: zero, which publishes a loss at once.
  ///
  /// The time counts from the first loss; further losses meanwhile do not extend it. A path that is reachable is never held
  /// back.
  public var hold: Duration = .zero
  /// Whether an address in 169.254/16 counts as usable. Default: false.
  public var allowsLinkLocalIPv4 = false
  /// Decides by name which links are modems although nothing else marks them, such as a modem behind pppd. Default: nil,
  /// which adds none.
  public var isModem: (@Sendable (_ name: String) -> Bool)?
  /// Returns whether the link with this name is a tunnel. Use it for links that do not look like tunnels: the `ppp0` of a VPN that
  /// runs pppd looks like a DSL line. Default: nil, which leaves only the links that their kind or hardware type marks as tunnels.
  public var isTunnel: (@Sendable (_ name: String) -> Bool)?
  /// Decides which links may cost money, by the name of the link and of the WiFi network that it has joined.
  ///
  /// If the closure returns nil, the monitor judges that link by itself. Default: nil, so the monitor judges every link.
  public var isExpensive: (@Sendable (_ interface: String, _ network: SSID?) -> Bool?)?
  /// The time after which the addresses of a host are resolved again; at least one second. Default: 60 seconds.
  ///
  /// The addresses are also resolved when the name server's answer expires, but at most every 5 seconds. An interval below 5
  /// seconds is used as it is.
  public var resolutionInterval: Duration = .seconds(60)
  /// Whether a path is also published if only ``NetworkPath/interfaces`` has changed. Default: false.
  public var publishesInterfaceChanges = false
  /// What else is reported about the WiFi network that carries the traffic. Its name, and its signal at the time, are part of each
  /// path anyway. Default: nothing else.
  public var wifi = WiFiReporting()
  /// Decides by name which links are treated as absent, also beneath tunnels, bonds and bridges. Default: nil, which ignores
  /// none.
  public var ignoresInterface: (@Sendable (_ name: String) -> Bool)?
  /// Decides by name which links count as a way out of this machine; no traffic is blocked. An included tunnel, bond or
  /// bridge counts, whatever links are beneath it. Default: nil, which includes all.
  public var includesInterface: (@Sendable (_ name: String) -> Bool)?

  /// Whether the files of rules of the machine and of its user count: `/etc/netwatch/rules` and `~/.config/netwatch/rules`, which
  /// netwatch-rules(5) describes. Default: ignored.
  ///
  /// The settings above count more than the files. Only files are read that nobody but root and the user can change; root reads
  /// only those in `/etc/netwatch`.
  public var machineRules = MachineRules.ignored

  /// How the files of rules of a machine count.
  public enum MachineRules: Sendable {
    /// The files are not read.
    case ignored
    /// The files count, and their changes too, at once. The closure gets a sentence about each file that is not trusted and each line
    /// that is not understood, once, on the monitor's thread or before `start` returns; it must not wait.
    case followed(report: @Sendable (_ sentence: String) -> Void)
  }

  /// The rules that the options of a command are. They count more than those of the machine.
  package var rules = NetworkRules()
  /// Whether the monitor may start a process that asks the system for a host name that no name server knows. Default: true.
  package var startsProcesses = true

  /// Creates a configuration with the default values.
  public init() {}
}
