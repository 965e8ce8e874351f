import Netwatch
import NetwatchLibC
import NetwatchOptions

/// The format of lines.
enum OutputFormat: Equatable {
  case text, json
  case bar(Bar)

  static let names = ["text", "json"] + Bar.names

  /// Reads the value of `--format`.
  @Sendable static func named(_ name: String) throws(PlainError) -> OutputFormat {
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
  /// - Throws: A `PlainError` if there is no such bar.
  static func named(_ name: String, of names: [String] = names) throws(PlainError) -> Bar {
    guard let bar = all.first(where: { $0.name == name }) else { throw PlainError(unknown: name, of: names) }
    return bar
  }
}

/// The options for how lines are printed.
struct OutputOptions {
  var format: OutputFormat?
  var isJSON = false
  var color = ColorChoice.auto

  // For bars.
  var template: String?
  var icons: IconSet?
  var maximumWidth: Int?
  var hidden: [BarLook.Occasion] = []

  static let barOptions = ["--template", "--icons", "--max-width", "--hide-when"]

  private var looksLikeBar: Bool { template != nil || icons != nil || maximumWidth != nil || !hidden.isEmpty }

  var wantsJSON: Bool { isJSON || format == .json }

  /// Whether lines are text for people.
  var isText: Bool { !looksLikeBar && !isJSON && (format ?? .text) == .text }

  var terminal: Terminal { Terminal(descriptor: STDOUT_FILENO, color: color) }

  // MARK: What a bar shows

  private var shown: BarTemplate? { template.flatMap { try? BarTemplate($0) } }

  /// Whether there is a template that shows the traffic of a link.
  var showsTraffic: Bool { shown?.showsTraffic ?? false }

  /// Whether there is a template that shows the quality of the link.
  var showsQuality: Bool { shown?.showsQuality ?? false }

  /// Whether there is a template that shows which stage of the way to the internet fails.
  var showsStage: Bool { shown?.showsStage ?? false }

  /// Whether there is a template that shows the speed of the cable.
  var showsCable: Bool { shown?.showsCable ?? false }

  /// The properties of the WiFi network that a bar shows.
  var wifi: WiFiReporting {
    if let shown { return shown.wifi }
    if case .bar(let bar) = format, bar.format.showsSignal { return BarField.signal.wifi }
    return WiFiReporting()
  }

  // MARK: Renderers

  /// Returns the renderer for the format.
  ///
  /// - Parameters:
  ///   - saysWhy: Whether a sentence in text explains the reason. Default: false.
  ///   - units: The unit of rates. Default: bits per second.
  ///   - showsTraffic: Whether a bar without `--template` shows the traffic. Default: false.
  ///   - opensPortal: Whether a click on a bar opens a login page. Default: false.
  ///   - target: The target that the paths of records lead to. Default: the internet.
  ///   - snapshot: What a snapshot in text is about. Default: nil, lines follow one another.
  /// - Throws: A `PlainError` if the template makes no sense.
  func makeRenderer(
    saysWhy: Bool = false, units: TrafficUnits = .bits, showsTraffic: Bool = false, opensPortal: Bool = false,
    about target: NetworkTarget = .internet, snapshot: TextRenderer.Snapshot? = nil
  ) throws(PlainError) -> any LineRenderer {
    let barFormat: BarFormat? =
      if case .bar(let bar) = format { bar.format } else { looksLikeBar && !wantsJSON ? .plain : nil }
    if let barFormat {
      let look = BarLook(
        template: try template.map { text throws(PlainError) in try BarTemplate(text) }, icons: icons ?? .unicode,
        maximumWidth: maximumWidth, hidden: hidden, usesColor: color != .never, units: units,
        showsTraffic: showsTraffic)
      return try BarRenderer(barFormat, look, opensPortal: opensPortal)
    }
    return isText
      ? TextRenderer(terminal: terminal, saysWhy: saysWhy, units: units, snapshot: snapshot)
      : JSONRenderer(about: target)
  }
}
