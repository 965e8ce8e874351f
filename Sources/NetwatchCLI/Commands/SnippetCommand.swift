import ArgumentParser
import Netwatch

/// `netwatch snippet`: prints the configuration of a status bar.
struct SnippetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "snippet", abstract: "Print the configuration of a status bar that shows netwatch.",
    discussion: """
      The first line names the file that the configuration belongs in. The configuration runs netwatch with the options that you \
      give here. If the bar does not find netwatch in its PATH, write its full path.
      """
  )

  @ParentCommand var root: NetwatchTool

  @Argument(
    help: ArgumentHelp("The bar: \(Bar.names.joined(separator: ", ")).", valueName: "bar"),
    completion: .list(Bar.names), transform: { try Bar.named($0) })
  var bar: Bar

  @OptionGroup var traffic: TrafficOptions
  @OptionGroup var units: UnitsOptions
  @OptionGroup var probe: ProbeOptions

  /// The characters that are special neither in a shell, nor in JSON, nor in any bar's configuration.
  private static let plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/._~=+,@-"

  mutating func validate() throws {
    try root.refuseOptions(of: Self.self, but: [TrafficOptions.self, UnitsOptions.self, ProbeOptions.self])
    if let url = probe.probe, !url.allSatisfy(Self.plain.contains) {
      throw ValidationError(
        "The URL of --probe has characters that may have a meaning in a bar's configuration; write it there yourself.")
    }
    if probe.expectation != nil || probe.interval != nil || probe.timeout != nil {
      throw ValidationError(
        "snippet takes only the URL of --probe; write the other options of the probe into the configuration yourself.")
    }
    try units.validate(showsTraffic: traffic.interval(isShown: false) != nil)
    guard try traffic.interval(isShown: false) == nil || bar.isFed else {
      throw ValidationError("\(bar.name) asks for one line at a time, which has no rate; leave out --traffic.")
    }
  }

  func run() throws {
    try PlainError.reporting {
      try StandardOutput().write(bar.snippet(with: traffic.words + units.words, probing: probe.probe) + "\n")
    }
  }
}
