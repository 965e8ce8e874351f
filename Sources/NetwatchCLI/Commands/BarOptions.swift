import ArgumentParser
import Netwatch

/// The options for what a bar shows. Every command that prints lines has them.
struct BarOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Show this text, such as '{icon} {ssid|interface}{ ip}'. Fields stand in braces; | takes the first field that is not empty; \
      spaces inside the braces appear only together with the field; {{ is a brace. Values are escaped for the bar; your own text \
      may be markup. Fields: \(BarField.list).
      """, valueName: "text"))
  var template: String?

  @Option(
    help: ArgumentHelp(
      "Use these marks: unicode; nerd, which needs a font of nerdfonts.com; ascii; or none, which "
        + "uses words. Default: unicode."),
    completion: .list(IconSet.allCases.map(\.rawValue)), transform: IconSet.choice)
  var icons: IconSet?

  @Option(
    name: .customLong("max-width"),
    help: ArgumentHelp("Shorten long values so that the text fits in N characters.", valueName: "n"))
  var maximumWidth: Int?

  @Option(
    name: .customLong("hide-when"), parsing: .singleValue,
    help: ArgumentHelp(
      "Show nothing in this case: \(BarLook.Occasion.list). wifi, wired, wwan, bluetooth, virtual and other: "
        + "while an interface of this kind carries the traffic. idle: while the activity mark is not shown. May be "
        + "repeated.",
      valueName: "when"),
    completion: .list(BarLook.Occasion.names), transform: BarLook.Occasion.named)
  var hidden: [BarLook.Occasion] = []

  /// The name of an option that was given; nil if none was.
  var given: String? {
    if template != nil { return "--template" }
    if icons != nil { return "--icons" }
    if maximumWidth != nil { return "--max-width" }
    return hidden.isEmpty ? nil : "--hide-when"
  }

  mutating func validate() throws {
    if let maximumWidth, maximumWidth < 1 { throw ValidationError("--max-width needs 1 or more.") }
  }

  /// Whether there is a template that shows the traffic of a link.
  var showsTraffic: Bool { template.flatMap { try? BarTemplate($0) }?.showsTraffic ?? false }

  /// Whether there is a template that shows the quality of the link.
  var showsQuality: Bool { template.flatMap { try? BarTemplate($0) }?.showsQuality ?? false }

  /// Whether there is a template that shows which stage of the way to the internet fails.
  var showsStage: Bool { template.flatMap { try? BarTemplate($0) }?.showsStage ?? false }

  func makeRenderer(
    for format: BarFormat, _ color: ColorChoice, _ units: TrafficUnits, showsTraffic: Bool, opensPortal: Bool
  ) throws -> BarRenderer {
    do throws(PlainError) {
      let look = BarLook(
        template: try template.map { text throws(PlainError) in try BarTemplate(text) }, icons: icons ?? .unicode,
        maximumWidth: maximumWidth, hidden: hidden, usesColor: color != .never, units: units,
        showsTraffic: showsTraffic)
      return try BarRenderer(format, look, opensPortal: opensPortal)
    } catch {
      throw ValidationError("--template: \(error.description).")
    }
  }
}
