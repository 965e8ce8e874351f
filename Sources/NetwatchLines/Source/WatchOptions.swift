import Netwatch
import NetwatchNetlink
import NetwatchOptions
import NetwatchResolver
import NetwatchStream

/// The options for what is judged and what is counted, which the command and libnetwatch share.
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
    linkOptions + [rulesOption, targetOption, holdOption, interfacesOption, serviceOption] + activityOptions
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
