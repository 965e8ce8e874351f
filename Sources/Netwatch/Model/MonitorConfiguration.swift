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

  /// The kind of link that has to carry the traffic, beneath any tunnel. Default: nil, any kind.
  ///
  /// The target is reachable only over such links, also if the kernel's best route takes another one: the ways that sockets take that are
  /// bound to these links. A tunnel counts if it is known that such a link carries it.
  public var requiredMedium: Medium?
  /// The kinds of links that must not carry the traffic, beneath any tunnel. Default: none.
  ///
  /// The target is reachable only over other links. A tunnel counts if it is known that a link of another kind carries it.
  public var prohibitedMedia: Set<Medium> = []

  /// Asks a server whether the internet answers, over each new path and from time to time: ``NetworkPath/internet`` and
  /// ``NetworkPath/portal``. Default: nil, no request is ever sent.
  ///
  /// `import NetwatchHTTP` has one, `HTTPInternetProbe`.
  public var probe: (any InternetProbe)?
  /// The time from the answer to a probe to the next one; zero for none. While the internet does not answer, at most 10 seconds. Default:
  /// 300 seconds.
  public var probeInterval: Duration = .seconds(300)
  /// Whether the stages of the way to the internet are watched: ``NetworkPath/stages``. Default: false.
  ///
  /// Nothing is sent; but each probe also asks the configured name servers for its server's address.
  public var watchesStages = false
  /// Whether an empty datagram is sent to a gateway that nothing proves to be alive, every 5 seconds, so that
  /// ``MonitorConfiguration/watchesStages`` finds out about it. Default: false.
  public var nudgesGateway = false
  /// Whether the quality of the link is measured, by this machine's TCP connections: ``NetworkPath/linkQuality``. Nothing is sent.
  /// Default: false.
  public var measuresQuality = false
  /// Whether ``NetworkPath/network`` is found out. Default: false.
  ///
  /// The key of the IDs is made from /etc/machine-id, or kept in the user's folder for state. If there is neither, `start` throws.
  public var identifiesNetwork = false
  /// Whether a path has what its network says about itself, in ``NetworkPath/announcements``. No packet is sent; the monitor wakes up
  /// when a router advertises itself. Default: false.
  public var hearsAnnouncements = false
  /// Whether a path has what the driver of its wired link says about the cable, in ``NetworkPath/cable``: the speed, the duplex, the modes
  /// of both ends, and why there is no carrier. The driver is asked when the link has changed. Default: false.
  public var readsCable = false
  /// Whether each link that could carry the traffic is judged as if it were the only one, in ``NetworkPath/uplinks``. The kernel is asked
  /// for its routes and neighbours, and no packet is sent. Default: false.
  public var judgesUplinks = false
  /// Asks the portal API that the network names whether somebody has to log in, and where: ``NetworkAnnouncements/captivePortal``. Nothing
  /// else makes the monitor ask. Default: nil, nothing is ever asked.
  ///
  /// The monitor also does what ``hearsAnnouncements`` says. A request is made at least 10 seconds after the one before: when the network
  /// names another address, every 10 seconds while somebody has to log in, and otherwise every 5 minutes and when the time has run out.
  /// `import NetwatchPortal` has a client, `HTTPPortalAPIClient`.
  public var portalAPI: (any PortalAPIClient)?
  /// Gets a sentence for people about what cannot be found out, such as a kernel that does not list TCP connections. It is called on the
  /// monitor's thread or before `start` returns, and must not wait. Default: nil, nobody is told.
  public var report: (@Sendable (_ sentence: String) -> Void)?

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
  /// Whether all links are found that carry the traffic, and not only the link of the verdict. Where at least two links could carry
  /// traffic, that is one more question to the kernel for each family. Default: false.
  package var findsAllCarriers = false
  /// Whether the monitor may start a process that asks the system for a host name that no name server knows. Default: true.
  package var startsProcesses = true

  /// Creates a configuration with the default values.
  public init() {}
}
