import ArgumentParser
import Glibc
import Netwatch

/// The format of lines.
enum OutputFormat: Equatable {
  case text, json
  case bar(Bar)

  static let names = ["text", "json"] + Bar.names

  @Sendable static func named(_ name: String) throws -> OutputFormat {
    switch name {
    case "text": .text
    case "json": .json
    default: .bar(try Bar.named(name, of: names))
    }
  }

  var name: String {
    switch self {
    case .text: "text"
    case .json: "json"
    case .bar(let bar): bar.name
    }
  }
}

extension Bar: Equatable {
  static func == (one: Bar, other: Bar) -> Bool { one.name == other.name }

  /// Returns the bar with a name.
  ///
  /// - Parameter names: The possible names, for the error. Default: those of all bars.
  /// - Throws: A `ValidationError` if there is no such bar.
  static func named(_ name: String, of names: [String] = names) throws -> Bar {
    guard let bar = all.first(where: { $0.name == name }) else { throw ValidationError(unknown: name, of: names) }
    return bar
  }
}

struct OutputOptions: SharedOptions {
  @Option(
    help: ArgumentHelp(
      "Print this format: text, json, or that of a bar: \(Bar.names.joined(separator: ", ")). Default: text on a "
        + "terminal, otherwise json; with an option for bars, a plain line.",
      in: [
        "explain": "Print text or json. Default: text.",
        "top": "Print text or json. Default: text on a terminal, otherwise json.",
      ]),
    completion: .list(OutputFormat.names), transform: OutputFormat.named)
  var format: OutputFormat?

  @Flag(help: "Print JSON lines, as --format json does.")
  var json = false

  @Option(
    help: ArgumentHelp(
      "Colour the output: auto, always or never. auto colours text on a terminal, unless NO_COLOR is set and not empty, "
        + "and the output for bars that can show colours. Default: auto.", in: ["explain": ownColors, "top": ownColors]),
    completion: .list(ColorChoice.allCases.map(\.rawValue)), transform: ColorChoice.choice)
  var color = ColorChoice.auto

  @OptionGroup(visibility: .rare(notIn: "explain", "top")) var bar: BarOptions

  private static let ownColors =
    "Colour the text: auto, always or never. auto colours text on a terminal, unless NO_COLOR is set and not empty. Default: auto."

  var given: String? {
    if format != nil { return "--format" }
    if json { return "--json" }
    return color != .auto ? "--color" : bar.given
  }

  mutating func validate() throws {
    if json, let format, format != .json {
      throw ValidationError("--json and --format \(format.name) contradict each other; give one.")
    }
    if let given = bar.given, wantsJSON {
      throw ValidationError("JSON does nothing with \(given); leave out \(given).")
    }
    _ = try makeBarRenderer(.bits, showsTraffic: false, opensPortal: false)
  }

  /// Throws a `ValidationError` if an option or a format for bars was given to a command whose output is too long for a bar.
  func refuseBars(for command: (some ParsableCommand).Type) throws {
    let name = command.configuration.commandName ?? ""
    if let given = bar.given { throw ValidationError("\(name) does nothing with \(given); leave it out.") }
    if let format, format != .text, format != .json {
      throw ValidationError("\(name) is too long for a bar; give --format text or --format json.")
    }
  }

  var wantsJSON: Bool { json || format == .json }

  /// Whether lines are text for people.
  var isText: Bool { bar.given == nil && (format == .text || format == nil && terminal.isTerminal && !json) }

  /// The properties of the WiFi network that a bar shows.
  var wifi: WiFiReporting {
    if let template = bar.template.flatMap({ try? BarTemplate($0) }) { return template.wifi }
    if case .bar(let bar) = format, bar.format.showsSignal { return BarField.signal.wifi }
    return WiFiReporting()
  }

  var terminal: Terminal { Terminal(descriptor: STDOUT_FILENO, color: color) }

  /// Returns the renderer for a bar; nil if lines are text or JSON.
  private func makeBarRenderer(
    _ units: TrafficUnits, showsTraffic: Bool, opensPortal: Bool
  ) throws -> BarRenderer? {
    func make(_ format: BarFormat) throws -> BarRenderer {
      try bar.makeRenderer(for: format, color, units, showsTraffic: showsTraffic, opensPortal: opensPortal)
    }
    if case .bar(let bar) = format { return try make(bar.format) }
    return bar.given != nil && !wantsJSON ? try make(.plain) : nil
  }

  /// Returns the renderer for the format.
  ///
  /// - Parameters:
  ///   - saysWhy: Whether a sentence in text explains the reason. Default: false.
  ///   - units: The unit of rates. Default: bits per second.
  ///   - showsTraffic: Whether a bar without `--template` shows the traffic. Default: false.
  ///   - opensPortal: Whether a click on a bar opens a login page. Default: false.
  func makeRenderer(
    saysWhy: Bool = false, units: TrafficUnits = .bits, showsTraffic: Bool = false,
    opensPortal: Bool = false
  ) throws -> any LineRenderer {
    if let renderer = try makeBarRenderer(units, showsTraffic: showsTraffic, opensPortal: opensPortal) {
      return renderer
    }
    let terminal = terminal
    return isText ? TextRenderer(terminal: terminal, saysWhy: saysWhy, units: units) : JSONRenderer()
  }
}
