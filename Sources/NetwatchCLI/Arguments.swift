import ArgumentParser
import Glibc
import Netwatch
import NetwatchResolver

/// How lines look.
enum OutputFormat: String, CaseIterable {
  case text, json, waybar, i3bar, swaybar, i3blocks
  case i3statusRust = "i3status-rust"
  case polybar, lemonbar, xmobar, tmux, conky, dwm, screen
}

enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
  case auto, always, never
}

/// What both `netwatch` itself and a subcommand understand, stands in groups: it takes all the options that it knows, even
/// those behind the subcommand's name, and groups are all that it hands on.
protocol SharedOptions: ParsableArguments {
  /// The name of one that was given; nil if none was.
  var given: String? { get }
}

struct OutputOptions: SharedOptions {
  @Option(
    help: "How lines look: \(OutputFormat.list). Default: text on a terminal, JSON otherwise.",
    completion: .list(OutputFormat.names), transform: OutputFormat.named)
  var format: OutputFormat?

  @Flag(help: "The same as --format json.")
  var json = false

  @Option(help: "Whether text is coloured. NO_COLOR is honoured. Lines for bars are, unless it is never.")
  var color = ColorChoice.auto

  @OptionGroup var bar: BarOptions

  var given: String? {
    if format != nil { return "--format" }
    if json { return "--json" }
    return color != .auto ? "--color" : bar.given
  }

  mutating func validate() throws {
    if json, let format, format != .json {
      throw ValidationError("--json and --format \(format.rawValue) contradict each other; give one.")
    }
    if bar.given != nil, json || format == .json {
      throw ValidationError(
        "\(BarOptions.names) are for bars and text; leave out the format JSON, which says everything.")
    }
    _ = try makeBarRenderer()
  }

  /// Nil where lines are for people or programs.
  private func makeBarRenderer() throws -> (any LineRenderer)? {
    if let format, format != .text { return try bar.makeRenderer(for: format, color) }
    return bar.given != nil ? try bar.makeRenderer(for: .text, color) : nil
  }

  var terminal: Terminal { Terminal(descriptor: STDOUT_FILENO, color: color) }

  /// - Parameter saysWhy: whether text says in a sentence why.
  func makeRenderer(saysWhy: Bool = false) throws -> any LineRenderer {
    if let renderer = try makeBarRenderer() { return renderer }
    let terminal = terminal
    let wantsText = format == .text || format == nil && terminal.isTerminal
    return wantsText && !json ? TextRenderer(terminal: terminal, saysWhy: saysWhy) : JSONRenderer()
  }
}

struct SnapshotOptions: SharedOptions {
  @Flag(help: "List every link, and tell when the list changes.")
  var interfaces = false

  @Flag(help: "Exit with status 1 unless reachable.")
  var check = false

  var given: String? { interfaces ? "--interfaces" : check ? "--check" : nil }
}

/// Which links count, and as what.
struct LinkOptions: ParsableArguments {
  @Option(
    name: [.customShort("i"), .customLong("interface")], parsing: .singleValue,
    help: ArgumentHelp(
      "Count only links whose name matches as ways out, whatever lies beneath them; may be repeated.",
      valueName: "glob"))
  var included: [String] = []

  @Option(
    name: .customLong("ignore"), parsing: .singleValue,
    help: ArgumentHelp(
      "Judge as if links whose name matches were not there, beneath tunnels too; may be repeated.", valueName: "glob"))
  var ignored: [String] = []

  @Option(
    name: .customLong("wwan"), parsing: .singleValue,
    help: ArgumentHelp(
      "Take links whose name matches for modems, such as 'ppp*'; may be repeated.", valueName: "glob"))
  var modems: [String] = []

  @Option(
    name: .customLong("tunnel"), parsing: .singleValue,
    help: ArgumentHelp(
      "Treat links whose name matches as tunnels, such as 'ppp0' of a VPN by pppd; may be repeated.", valueName: "glob")
  )
  var tunnels: [String] = []

  @Option(
    name: .customLong("expensive"), parsing: .singleValue,
    help: ArgumentHelp(
      "Say that links may cost money whose name matches, or that of their WiFi network; may be repeated.",
      valueName: "glob"))
  var expensive: [String] = []

  @Option(
    name: .customLong("not-expensive"), parsing: .singleValue,
    help: ArgumentHelp("Say that they cost nothing, whatever else is said; may be repeated.", valueName: "glob"))
  var notExpensive: [String] = []

  var given: String? {
    if !included.isEmpty { return "--interface" }
    if !ignored.isEmpty { return "--ignore" }
    if !modems.isEmpty { return "--wwan" }
    if !tunnels.isEmpty { return "--tunnel" }
    if !expensive.isEmpty { return "--expensive" }
    return notExpensive.isEmpty ? nil : "--not-expensive"
  }

  func configuration(for target: NetworkTarget) -> MonitorConfiguration {
    var configuration = MonitorConfiguration()
    configuration.target = target
    configuration.isModem = Self.rule(modems)
    configuration.isTunnel = Self.rule(tunnels)
    configuration.ignoresInterface = Self.rule(ignored)
    configuration.includesInterface = Self.rule(included)
    if !expensive.isEmpty || !notExpensive.isEmpty {
      configuration.isExpensive = { [expensive, notExpensive] name, network in
        let names = [name] + (network.map { [$0.text] } ?? [])
        func isMeant(by globs: [String]) -> Bool { globs.contains { glob in names.contains { matches(glob, $0) } } }
        return isMeant(by: notExpensive) ? false : isMeant(by: expensive) ? true : nil
      }
    }
    return configuration
  }

  /// Nil if there are no globs.
  private static func rule(_ globs: [String]) -> (@Sendable (_ name: String) -> Bool)? {
    globs.isEmpty ? nil : { @Sendable name in globs.contains { matches($0, name) } }
  }
}

struct PathOptions: SharedOptions {
  @OptionGroup var links: LinkOptions

  @Option(
    help: ArgumentHelp(
      "Judge the way to this address, host or host:port instead of to the internet.", valueName: "target"),
    transform: Target.parse)
  var target: NetworkTarget = .internet

  /// Whether a service's judgement would be the same.
  var isDefault: Bool { given == nil }

  var given: String? { target != .internet ? "--target" : links.given }

  var configuration: MonitorConfiguration { links.configuration(for: target) }
}

struct ServiceOptions: SharedOptions {
  @Flag(help: "Watch netlink in this process, and count no requests, even where a service runs.")
  var noService = false

  var given: String? { noService ? "--no-service" : nil }

  /// - Parameter judgesAlike: whether the service's judgement is the one that is wanted.
  func use(judgesAlike: Bool) -> Follower.ServiceUse? {
    noService ? nil : judgesAlike ? .everything : .activity
  }
}

private func matches(_ glob: String, _ name: String) -> Bool {
  unsafe fnmatch(glob, name, 0) == 0
}

/// Options that are a time.
enum Seconds {
  private static let longest = Duration.longestDelay / .seconds(1)

  @Sendable static func parse(_ text: String) throws -> Duration {
    guard let seconds = Double(text), seconds >= 0, seconds <= longest else {
      throw ValidationError("'\(text)' is not a number of seconds from 0; write 2 or 0.5.")
    }
    return .seconds(seconds)
  }
}

/// `--target`.
enum Target {
  @Sendable static func parse(_ text: String) throws -> NetworkTarget {
    do {
      let target = try NetworkTarget(text)
      if case .host(let name, _) = target { _ = try InternationalName.ascii(of: name) }
      return target
    } catch {
      throw ValidationError(error.description)
    }
  }
}
