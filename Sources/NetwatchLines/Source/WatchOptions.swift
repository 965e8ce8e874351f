import Netwatch
import NetwatchNetlink
import NetwatchOptions
import NetwatchResolver
import NetwatchStream

/// The options for what is judged, measured and counted, which the command and libnetwatch share.
package struct WatchOptions {
  package var target = NetworkTarget.internet
  package var rules = LinkRules()
  package var hold = Duration.zero
  /// Whether the files of rules count.
  package var usesRuleFiles = false
  package var listsInterfaces = false
  package var usesService = true
  package var counts = ServiceIdentity.Counts.requests
  package var exclusions: [ConnectionExclusion] = []
  package var interval: Duration?
  package var patience: Duration?
  package var probe = ProbeOptions()
  package var stages = false
  package var nudges = false
  package var quality = false
  package var announced = false
  package var cable = false
  /// Whether each link that could carry the traffic is judged.
  package var each = false
  /// Whether the portal API of the network is asked.
  package var asksPortal = false
  package var traffic = false
  package var trafficInterval: Duration?
  package var wifi = WiFiReporting()
  package var namesNetwork = false

  /// Creates the values that count without options.
  package init() {}

  /// Whether a service, which has no such options, judges the path in the same way.
  package var judgesAsUsual: Bool {
    target == .internet && rules == LinkRules() && hold == .zero && !listsInterfaces
  }

  /// The settings of the monitor.
  package var configuration: MonitorConfiguration {
    var configuration = rules.configuration(for: target)
    configuration.hold = hold
    configuration.publishesInterfaceChanges = listsInterfaces
    return configuration
  }

  /// Whether lines have something that a service does not send: what the network says, the cable or each uplink.
  package var needsOwn: Bool { announced || asksPortal || cable || each }

  /// Returns how a service is used.
  ///
  /// - Parameter needsOwn: Whether records have something that a service does not send.
  package func serviceUse(needsOwn: Bool) -> ServiceUse {
    !usesService ? .nothing : judgesAsUsual && !needsOwn ? .everything : .activity
  }

  /// - Parameter dashes: The text before the names of options, as the user writes them.
  /// - Throws: A `PlainError` about options that do not fit together.
  package func check(dashes: String = "--") throws(PlainError) {
    if nudges, !stages { throw PlainError("\(dashes)nudge belongs to \(dashes)stages; add \(dashes)stages.") }
    try probe.check(dashes: dashes)
    _ = try activity(dashes: dashes)
  }

  /// Returns the settings of counting.
  ///
  /// - Parameter dashes: The text before the names of options, as the user writes them.
  /// - Throws: A `PlainError` about options that do not fit together.
  package func activity(dashes: String = "--") throws(PlainError) -> ActivitySettings {
    try ActivitySettings(
      counts: counts, exclusions: exclusions, interval: interval, patience: patience, dashes: dashes)
  }

  // MARK: The table

  /// All options.
  package static var options: [Option<WatchOptions>] {
    linkOptions + [rulesOption, targetOption, holdOption, interfacesOption, networkOption, serviceOption]
      + activityOptions
      + probeOptions + trafficOptions + wifiOptions + [signalOption, qualityOption] + stageOptions + announcementOptions
      + cableOptions + uplinkOptions
  }

  private static let places: [Command] = [.follow, .status, .wait, .explain, .open]
  private static let rarePlaces: [Command] = [.status, .wait, .explain, .open]
  private static let links = "Interfaces and targets"

  /// Which interfaces count, and as what.
  package static var linkOptions: [Option<WatchOptions>] {
    linkTable.map { $0.under(links).rare(in: rarePlaces).inLibrary() }
  }

  @OptionTable<WatchOptions> private static var linkTable: [Option<WatchOptions>] {
    Option.text(
      "-i", "--interface", value: "glob", of: places,
      help: """
        Be reachable only over interfaces that match this pattern, such as 'wl*'. Interfaces beneath a tunnel may have any \
        name. May be repeated.
        """
    ) { $0.rules.included.append($1) }
    .repeating().suggesting(.interfaces)
    Option.text(
      "--ignore", value: "glob", of: places,
      help: """
        Judge as if interfaces that match this pattern, such as 'docker*', did not exist, also beneath tunnels, bonds and \
        bridges. They are still listed. May be repeated.
        """
    ) { $0.rules.ignored.append($1) }
    .repeating().suggesting(.interfaces)
    .manual("Docker names its bridges docker0 and br-*. To say it once for all commands, see netwatch-rules(5).")
    Option.text(
      "--wwan", value: "glob", of: places,
      help: "Treat interfaces that match this pattern, such as 'ppp*', as cellular modems. May be repeated."
    ) { $0.rules.modems.append($1) }
    .repeating().suggesting(.interfaces)
    Option.text(
      "--tunnel", value: "glob", of: places,
      help: "Treat interfaces that match this pattern, such as 'ppp0' of a VPN by pppd, as tunnels. May be repeated."
    ) { $0.rules.tunnels.append($1) }
    .repeating().suggesting(.interfaces)
    .manual("Without this option or a rule, such an interface looks like a DSL line.")
    Option.text(
      "--expensive", value: "glob", of: places,
      help: """
        Treat interfaces as expensive if their name, or the name of the WiFi network that they have joined, matches this \
        pattern, such as 'Train*'. May be repeated.
        """
    ) { $0.rules.expensive.append($1) }
    .repeating().suggesting(.interfaces)
    .manual(
      """
      Without this option, these are expensive: modems and Bluetooth; phones and modems on USB; a WiFi network whose \
      access point sends Microsoft's network cost element or Apple's element of a hotspot, or whose DHCP server has \
      sent ANDROID_METERED in a lease that you may read. netwatch explain says why. To say it once for all commands, see \
      netwatch-rules(5), where expensive is called metered.
      """)
    Option.text(
      "--not-expensive", value: "glob", of: places,
      help: """
        Treat interfaces as not expensive if their name, or the name of the WiFi network that they have joined, matches this \
        pattern. Wins over everything else. May be repeated.
        """
    ) { $0.rules.notExpensive.append($1) }
    .repeating().suggesting(.interfaces)
    .manual("In netwatch-rules(5), this is not-metered.")
    Option.flag(
      "--link-local", of: places,
      help: "Let an IPv4 address in 169.254/16 be the source of traffic, as behind a router that translates it."
    ) { $0.rules.allowsLinkLocal = $1 }
  }

  /// The command reads the files unless it is told not to; a program that has the library reads them if it is told to.
  private static var rulesOption: Option<WatchOptions> {
    .flag("--rules", of: [], help: "Judge by the files of rules, as the command does.") { $0.usesRuleFiles = $1 }
      .inLibrary()
  }

  package static var targetOption: Option<WatchOptions> {
    .parsed(
      "--target", value: "target", of: places,
      help: "Judge the way to this address, host or host:port instead of the way to the internet.",
      by: NetworkTarget.init(optionValue:)
    ) { $0.target = $1 }
    .manual(
      """
      The name of a host is resolved again when the path, /etc/resolv.conf or /etc/hosts changes, and when the answer has \
      expired. Name servers are asked first, then the system. Nothing is sent to the target itself.
      """
    )
    .under(links).rare(in: rarePlaces).inLibrary()
  }

  package static var holdOption: Option<WatchOptions> {
    .seconds(
      "--hold", of: [.follow], help: "With --follow, report a loss only after it has lasted this long."
    ) { $0.hold = $1 }
    .inLibrary()
  }

  package static var interfacesOption: Option<WatchOptions> {
    .flag(
      "--interfaces", of: [.follow, .status],
      help: "List all interfaces; with --follow, also print a line when the list changes."
    ) { $0.listsInterfaces = $1 }
    .help(
      in: .status,
      text: "List all interfaces. Text lists them anyway; with this option, also lo and link-local addresses."
    )
    .under("State").inLibrary()
  }

  package static var networkOption: Option<WatchOptions> {
    .flag(
      "--network-id", of: [.status],
      help: """
        Print only an ID by which this machine recognizes the network, for --for network=ID; with --json, the state with it.
        """
    ) { $0.namesNetwork = $1 }
    .under("State")
    .manual(
      """
      The ID is computed with a key of this machine from the hardware address of the gateway and the network that it \
      is in, so it tells nobody else where you are. It is unknown until the kernel has sent the gateway a packet.
      """
    )
    .inLibrary()
  }

  package static var serviceOption: Option<WatchOptions> {
    .flag(
      "--no-service", of: [.follow, .status],
      help: "Ask the kernel, not the service, even if one runs. Requests that programs announce are then not counted."
    ) { $0.usesService = !$1 }
    .under("Service").rare(in: [.status]).inLibrary()
  }

  private static let counting: [Command] = [.follow, .status, .serve]

  /// What counts as in flight.
  package static var activityOptions: [Option<WatchOptions>] {
    activityTable.map { $0.under("Activity").rare(in: [.status]).inLibrary() }
  }

  @OptionTable<WatchOptions> private static var activityTable: [Option<WatchOptions>] {
    Option.parsed(
      "--activity", value: "what", of: counting,
      help: "\(kinds) If a service runs, its own --activity applies instead.",
      by: ServiceIdentity.Counts.init(optionValue:)
    ) { $0.counts = $1 }
    .help(
      in: .serve,
      text: "\(kinds) The clients of the service show this count, whatever their own --activity. Default: requests."
    )
    .standard("requests").suggesting(.words { ["requests", "tcp", "udp", "tcp,udp", "all"] })
    .manual(
      """
      With --no-service, requests are not known. A TCP connection is in flight while it connects, has unacknowledged \
      data, has asked and got no answer yet, or is being answered. UDP is one request while 16 datagrams or more go \
      one way in a second.
      """)
    Option.parsed(
      "--activity-ignore", value: "what", of: counting,
      help: """
        Do not count TCP and UDP with this port, to this address or range such as 10.0.0.0/8, or of this program. May be \
        repeated.
        """,
      by: ConnectionExclusion.init
    ) { $0.exclusions.append($1) }
    .repeating().suggesting(.programs)
    .manual("If a user namespace or /proc hides the programs, only ports and addresses can be left out.")
    Option.seconds(
      "--activity-interval", of: counting, help: "Look at the TCP connections this often.",
      need: "0.02 or more", if: { $0 >= ActivitySettings.shortestInterval }
    ) { $0.interval = $1 }
    .standard("0.5")
    Option.seconds(
      "--activity-patience", of: counting,
      help: "Do not count a TCP connection any more when it has waited this long for an answer, as a long poll does.",
      need: "a number above 0", if: { $0 > .zero }
    ) { $0.patience = $1 }
    .standard("30")
  }

  private static let kinds = """
    Count as in flight: requests (those that programs announce to the service), tcp (connections of all programs), udp (an \
    estimate), all (requests,tcp), or several such as tcp,udp.
    """

  // MARK: The probe

  /// Whether a server on the internet answers.
  package static var probeOptions: [Option<WatchOptions>] { probeTable.map { $0.inLibrary() } }

  @OptionTable<WatchOptions> private static var probeTable: [Option<WatchOptions>] {
    Option.parsed(
      "--probe", value: "url", of: [.follow, .status, .wait, .explain, .open, .snippet],
      help: "Also ask this URL whether the internet is there, over the interface that carries the traffic. \(proof)",
      by: ProbeURL.checked
    ) { $0.probe.url = $1 }
    .help(in: .open, text: "Ask this URL, over the interface that carries the traffic. \(proof)")
    .under("Internet probe").rare(in: [.status, .wait, .explain])
    .manual(
      """
      The request follows no redirect, keeps no cookie, ignores the proxies of the environment, and is sent at the \
      start, 0.2 seconds after the last change of the path, and after a suspend. No line of --follow waits for the \
      answer; status and wait do.
      """)
    Option.text(
      "--probe-expect", value: "text", of: probing,
      help: "With --probe, expect status 200 with a body that begins with this text."
    ) { $0.probe.expectation = $1 }
    .under("Internet probe").rare(in: probing)
    Option.seconds(
      "--probe-interval", of: [.follow, .wait],
      help: """
        With --follow or wait, repeat the request of --probe this often, and at least every 10 seconds while the internet does \
        not answer. 0: ask only at the start, when the path changes, and after a suspend.
        """,
      need: "0, or 0.1 or more", if: { $0 == .zero || $0 >= ProbeOptions.shortestInterval }
    ) { $0.probe.interval = $1 }
    .standard("300").under("Internet probe").rare(in: [.wait])
    Option.seconds(
      "--probe-timeout", of: probing, help: "With --probe, wait at most this long for the answer.",
      need: "more than 0", if: { $0 > .zero }
    ) { $0.probe.timeout = $1 }
    .standard("10").under("Internet probe").rare(in: probing)
  }

  private static let probing: [Command] = [.follow, .status, .wait, .explain, .open]

  private static let proof = """
    The answer must be status 204, or 200 with an empty body. A redirect or another page counts as a login page; an error such \
    as 404 proves nothing.
    """

  // MARK: Figures, stages and WiFi

  /// How much the links carry.
  package static var trafficOptions: [Option<WatchOptions>] { trafficTable.map { $0.inLibrary() } }

  @OptionTable<WatchOptions> private static var trafficTable: [Option<WatchOptions>] {
    Option.flag(
      "--traffic", of: [.follow, .serve, .snippet],
      help: """
        Measure each second how much the interface that carries the traffic receives and sends; with --interfaces, all \
        interfaces. --follow prints a line each second, and the log stores the bytes of each day.
        """
    ) { $0.traffic = $1 }
    .help(
      in: .serve,
      text: "With --log, also store how many bytes the interface that carries the traffic receives and sends each day."
    )
    .help(
      in: .snippet, text: "Also show how much the interface that carries the traffic receives and sends."
    )
    .under("Throughput")
    .manual("The counters are those of the kernel. A rate is unknown at the first sample and after a suspend.")
    Option.seconds(
      "--traffic-interval", of: [.follow, .serve, .snippet], help: "With --traffic, measure this often.",
      need: "0.1 or more", if: { $0 >= TrafficSampler.shortestInterval }
    ) { $0.trafficInterval = $1 }
    .help(in: .serve, text: "With --traffic, read the interface's counters this often.")
    .standard("1").under("Throughput")
  }

  /// What else is told of the WiFi network.
  package static var wifiOptions: [Option<WatchOptions>] { wifiTable.map { $0.inLibrary() } }

  @OptionTable<WatchOptions> private static var wifiTable: [Option<WatchOptions>] {
    Option.flag(
      "--wifi-details", of: [.follow, .status],
      help: "Also print the frequency, the band and the bit rates of the WiFi network. In text, -v does this too."
    ) { $0.wifi.includesDetails = $1 }
    .under("WiFi").rare(in: [.status])
    Option.flag(
      "--bssid", of: [.follow, .status],
      help: "Also print the address of the WiFi network's access point, which reveals where you are."
    ) { $0.wifi.includesAccessPoint = $1 }
    .under("WiFi").rare(in: [.status])
  }

  package static var signalOption: Option<WatchOptions> {
    .choice(
      "--signal", value: "steps|dbm", of: [.follow],
      help: """
        With --follow, also print a line when the WiFi signal, which is read every 5 seconds, moves to another of five \
        steps; with dbm, when it has changed at all. Without a value: steps.
        """
    ) { $0.wifi.signal = $1 }
    .optional(otherwise: WiFiReporting.SignalChanges.steps.rawValue)
    .manual(
      """
      The steps are: below -90 dBm, from -90, from -80, from -70 and from -60; a signal has to be 3 dB beyond the edge \
      of one.
      """
    )
    .inLibrary()
  }

  package static var qualityOption: Option<WatchOptions> {
    .flag(
      "--quality", of: [.follow, .status],
      help: """
        Also print the round-trip time and the loss of the interface that carries the traffic, as this machine's TCP \
        connections measure them. No packet is sent. With --follow, measure every 4 seconds, and print a line when the \
        figures have changed.
        """
    ) { $0.quality = $1 }
    .help(in: .status, text: "Also print the round-trip time and the loss.").rare(in: [.status])
    .manual(
      """
      A figure is unknown if fewer than 3 connections have supplied it in the last 30 seconds, and the loss also if \
      they have sent fewer than 100 segments. The loss is that of what this machine sends.
      """
    )
    .inLibrary()
  }

  /// What the network says about itself.
  package static var announcementOptions: [Option<WatchOptions>] { announcementTable.map { $0.inLibrary() } }

  @OptionTable<WatchOptions> private static var announcementTable: [Option<WatchOptions>] {
    Option.flag(
      "--announced", of: [.follow, .status],
      help: """
        Also print where the network says whether a login is needed, as routers and DHCP servers announce it. No packet is \
        sent. With --follow, print a line when that changes.
        """
    ) { $0.announced = $1 }
    .help(in: .status, text: "Also print where the network says whether a login is needed.").rare(in: [.status])
    .manual(
      """
      The kernel passes on what routers advertise and keeps none of it, so what was said before the start is unknown until \
      it is repeated. If another program handles the advertisements, such as NetworkManager or systemd-networkd, the kernel \
      passes on nothing; systemd-networkd 254 and later keep what they have heard. What a DHCP server says is read in the \
      leases of dhclient, if dhclient.conf(5) requests default-url, of systemd-networkd and, for root, of dhcpcd, if \
      dhcpcd.conf(5) requests captive_portal_uri; with --announced, --cable or --each, netwatch itself judges the path, even \
      if a service runs.
      """)
    Option.flag(
      "--portal-api", of: [.follow, .status, .open],
      help: """
        Also ask the server that the network names for this (RFC 8908) whether a login is needed, where, and for how long it \
        lasts; with --follow, print a line when that changes, and 5 minutes before the end.
        """
    ) { $0.asksPortal = $1 }
    .help(in: .status, text: "Also ask the server that the network names whether a login is needed.")
    .help(in: .open, text: "Ask the server that the network names for the address of its login page (RFC 8908).")
    .rare(in: [.status])
    .manual(
      """
      Anybody in a network can name a server. So only servers with https and a trusted certificate are asked, over the \
      interface whose network names them, with the name servers of that interface, never on this machine, and at least 10 \
      seconds apart: again every 10 seconds while a login is needed, otherwise every 5 minutes and at the end of the time. \
      The request has no cookie and no credential, and ignores proxies; --portal-api includes --announced.
      """)
  }

  /// What is known of the cable.
  package static var cableOptions: [Option<WatchOptions>] { cableTable.map { $0.inLibrary() } }

  @OptionTable<WatchOptions> private static var cableTable: [Option<WatchOptions>] {
    Option.flag(
      "--cable", of: [.follow, .status],
      help: """
        Also print what the driver of the network card says about its cable, and again when that changes: the speed and the \
        duplex, in JSON also the modes of both ends, and why there is no carrier.
        """
    ) { $0.cable = $1 }
    .help(in: .status, text: "Also print the speed of the cable, or why there is no carrier.").rare(in: [.status])
  }

  /// Each link that could carry the traffic.
  package static var uplinkOptions: [Option<WatchOptions>] { uplinkTable.map { $0.inLibrary() } }

  @OptionTable<WatchOptions> private static var uplinkTable: [Option<WatchOptions>] {
    Option.flag(
      "--each", of: [.follow, .status],
      help: """
        Also judge each interface that could carry the traffic, as if it were the only one, and again when that changes. No \
        packet is sent.
        """
    ) { $0.each = $1 }
    .help(in: .status, text: "Also judge each interface that could carry the traffic, as if it were the only one.")
    .manual(
      """
      It needs a carrier, an address, a route and a router; with status and --probe, each one that works is also probed.
      """)
  }

  /// Which stage of the way to the internet fails.
  package static var stageOptions: [Option<WatchOptions>] { stageTable.map { $0.inLibrary() } }

  @OptionTable<WatchOptions> private static var stageTable: [Option<WatchOptions>] {
    Option.flag(
      "--stages", of: [.follow, .status],
      help: """
        Also print which stage of the way to the internet fails: link, address, gateway, DNS or internet. With --follow, \
        print a line when the first failing stage changes, or when none fails any more. Without --probe, the last two \
        stages are never ok.
        """
    ) { $0.stages = $1 }
    .help(in: .status, text: "Also print which stage of the way to the internet fails.").rare(in: [.status])
    .manual(
      """
      Each stage is ok, failed or unknown. The gateway is judged by the table of neighbours of the kernel, as ip neigh \
      prints it. With --stages, netwatch itself judges the path, even if a service runs.
      """)
    Option.flag(
      "--nudge", of: [.follow],
      help: """
        With --follow --stages, send the gateway an empty UDP datagram to port 9 every 5 seconds while nothing else proves \
        that it is alive. The kernel then notices a dead gateway within a minute.
        """
    ) { $0.nudges = $1 }
    .manual("A gateway that refuses the datagram is alive.")
  }
}

extension NetworkTarget {
  /// Parses an address, a host or a host with a port, such as `192.0.2.1`, `example.org` or `example.org:443`.
  ///
  /// - Throws: A `PlainError` with a sentence about what is wrong with the text.
  package init(optionValue text: String) throws(PlainError) {
    do {
      self = try NetworkTarget(text)
    } catch {
      throw PlainError(error.description)
    }
    if case .host(let name, _) = self { _ = try name.inASCII() }
  }
}

extension ServiceIdentity.Counts {
  fileprivate init(optionValue text: String) throws(PlainError) {
    guard let counts = Self(text) else {
      throw PlainError("write requests, tcp, udp, all, or several of them such as tcp,udp.")
    }
    self = counts
  }
}

/// The options that select links and set their kinds, by patterns of their names: `--interface` and similar ones.
package struct LinkRules: Hashable {
  /// The patterns of links that count as ways out; empty for all.
  package var included: [String] = []
  /// The patterns of links that are ignored.
  package var ignored: [String] = []
  /// The patterns of links that are modems.
  package var modems: [String] = []
  /// The patterns of links that are tunnels.
  package var tunnels: [String] = []
  /// The patterns of expensive links, for the names of links or of their WiFi networks.
  package var expensive: [String] = []
  /// The patterns of links that are not expensive, for the names of links or of their WiFi networks. They take precedence over
  /// ``expensive``.
  package var notExpensive: [String] = []
  /// Whether an IPv4 address in 169.254/16 can be the source of traffic.
  package var allowsLinkLocal = false

  /// Creates rules without any patterns.
  package init() {}

  /// Returns a configuration with these rules for a target.
  package func configuration(for target: NetworkTarget) -> MonitorConfiguration {
    var configuration = MonitorConfiguration()
    configuration.target = target
    configuration.rules = rules
    if let includes { configuration.includesInterface = includes }
    return configuration
  }

  /// The rules as statements. A later one counts more.
  private var rules: NetworkRules {
    var statements: [NetworkRules.Statement] = modems.map { .modem(Self.glob($0)) }
    statements += tunnels.map { .tunnel(Self.glob($0)) }
    statements += ignored.map { .ignored(Self.glob($0)) }
    statements += expensive.map { .metered(true, .either(Self.glob($0))) }
    statements += notExpensive.map { .metered(false, .either(Self.glob($0))) }
    if allowsLinkLocal { statements.append(.linkLocal) }
    return NetworkRules(statements)
  }

  private var includes: (@Sendable (_ name: String) -> Bool)? {
    let globs = included.map(Self.glob)
    return globs.isEmpty ? nil : { @Sendable name in globs.contains { $0.matches(name.utf8) } }
  }

  /// Decides by name which links count; nil for all.
  ///
  /// - Parameter machine: The rules of the machine.
  package func selection(with machine: NetworkRules) -> ((_ name: String) -> Bool)? {
    let all = NetworkRules(machine.statements + rules.statements)
    if included.isEmpty, !all.ignoresLinks { return nil }
    return { [includes] in (includes?($0) ?? true) && !all.isIgnored(name: $0.utf8) }
  }

  private static func glob(_ pattern: String) -> Glob { Glob(pattern: pattern.utf8) }
}

/// The options for a probe of the internet, which asks a server of the user's choice.
package struct ProbeOptions {
  /// The longest expected text in bytes, which is as much as `netwatch-http` reads.
  private static let longestExpectation = 1_024
  /// The shortest interval. Shorter ones would only put load on the machine and the server.
  static let shortestInterval = Duration.milliseconds(100)

  package var url: String?
  package var expectation: String?
  package var interval: Duration?
  package var timeout: Duration?

  /// The settings of the probe; nil if there is none.
  package var settings: ProbeSettings? { url.map(settings(asking:)) }

  /// Returns the settings of a probe of this URL.
  package func settings(asking url: String) -> ProbeSettings {
    var settings = ProbeSettings(
      url: url, expectation: expectation, userAgent: "netwatch/\(NetwatchVersion.text)")
    if let interval { settings.interval = interval }
    if let timeout { settings.timeout = timeout }
    return settings
  }

  /// - Parameter dashes: The text before the names of options, as the user writes them.
  /// - Throws: A `PlainError` about options that do not fit together.
  fileprivate func check(dashes: String) throws(PlainError) {
    if let expectation, !(1...Self.longestExpectation ~= expectation.utf8.count) {
      throw PlainError("\(dashes)probe-expect takes a text of 1 to \(Self.longestExpectation) bytes.")
    }
    let given = [
      expectation.map { _ in "expect" }, interval.map { _ in "interval" }, timeout.map { _ in "timeout" },
    ]
    if url == nil, let option = given.compactMap(\.self).first {
      throw PlainError("\(dashes)probe-\(option) belongs to \(dashes)probe; add \(dashes)probe.")
    }
  }
}
