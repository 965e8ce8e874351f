import ArgumentParser
import Netwatch
import NetwatchLines

/// The options for which interfaces count, and as what.
struct LinkOptions: ParsableArguments {
  @Option(
    name: [.customShort("i"), .customLong("interface")], parsing: .singleValue,
    help: ArgumentHelp(
      "Be reachable only over interfaces that match this pattern, such as 'wl*'. Interfaces "
        + "beneath a tunnel may have any name. May be repeated.",
      valueName: "glob"))
  var included: [String] = []

  @Option(
    name: .customLong("ignore"), parsing: .singleValue,
    help: ArgumentHelp(
      "Judge as if interfaces that match this pattern, such as 'docker*', did not exist, also beneath "
        + "tunnels, bonds and bridges. They are still listed. May be repeated.", valueName: "glob"))
  var ignored: [String] = []

  @Option(
    name: .customLong("wwan"), parsing: .singleValue,
    help: ArgumentHelp(
      "Treat interfaces that match this pattern, such as 'ppp*', as cellular modems. May be repeated.",
      valueName: "glob"))
  var modems: [String] = []

  @Option(
    name: .customLong("tunnel"), parsing: .singleValue,
    help: ArgumentHelp(
      "Treat interfaces that match this pattern, such as 'ppp0' of a VPN by pppd, as tunnels. May be "
        + "repeated.", valueName: "glob")
  )
  var tunnels: [String] = []

  @Option(
    name: .customLong("expensive"), parsing: .singleValue,
    help: ArgumentHelp(
      "Treat interfaces as expensive if their name, or the name of the WiFi network that they have joined, "
        + "matches this pattern, such as 'Train*'. May be repeated.", valueName: "glob"))
  var expensive: [String] = []

  @Option(
    name: .customLong("not-expensive"), parsing: .singleValue,
    help: ArgumentHelp(
      "Treat interfaces as not expensive if their name, or the name of the WiFi network that they have "
        + "joined, matches this pattern. Wins over everything else. May be repeated.", valueName: "glob"))
  var notExpensive: [String] = []

  @Flag(
    name: .customLong("link-local"),
    help: "Let an IPv4 address in 169.254/16 be the source of traffic, as behind a router that translates it.")
  var allowsLinkLocal = false

  var given: String? {
    if !included.isEmpty { return "--interface" }
    if !ignored.isEmpty { return "--ignore" }
    if !modems.isEmpty { return "--wwan" }
    if !tunnels.isEmpty { return "--tunnel" }
    if !expensive.isEmpty { return "--expensive" }
    if !notExpensive.isEmpty { return "--not-expensive" }
    return allowsLinkLocal ? "--link-local" : nil
  }

  var rules: LinkRules {
    var rules = LinkRules()
    (rules.included, rules.ignored, rules.modems, rules.tunnels) = (included, ignored, modems, tunnels)
    (rules.expensive, rules.notExpensive, rules.allowsLinkLocal) = (expensive, notExpensive, allowsLinkLocal)
    return rules
  }
}

struct PathOptions: SharedOptions {
  @OptionGroup var links: LinkOptions

  @Option(
    help: ArgumentHelp(
      "Judge the way to this address, host or host:port instead of the way to the internet.", valueName: "target"),
    transform: NetworkTarget.init(argument:))
  var target: NetworkTarget = .internet

  /// Whether no option was given, so that a service would judge the same.
  var isDefault: Bool { given == nil }

  var given: String? { target != .internet ? "--target" : links.given }

  /// The name of an option that selects what is judged; nil if the way to the internet is judged over all interfaces.
  var givenSelection: String? {
    if target != .internet { return "--target" }
    if !links.included.isEmpty { return "--interface" }
    return links.ignored.isEmpty ? nil : "--ignore"
  }

  var configuration: MonitorConfiguration { links.rules.configuration(for: target) }
}

extension NetworkTarget {
  /// Reads the value of an option or an argument.
  init(argument text: String) throws {
    self = try PlainError.asUsage { () throws(PlainError) in try NetworkTarget(checking: text) }
  }
}
