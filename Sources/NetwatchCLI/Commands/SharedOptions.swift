import ArgumentParser
import Netwatch
import NetwatchLines

/// A group of options that both `netwatch` itself and a subcommand have. `netwatch` takes all options that it knows, even those
/// after the subcommand's name, and passes only groups to the subcommand.
protocol SharedOptions: ParsableArguments {
  /// The name of an option that was given; nil if none was.
  var given: String? { get }
}

struct SnapshotOptions: SharedOptions {
  @Flag(
    help: ArgumentHelp(
      "List all interfaces; with --follow, also print a line when the list changes.",
      in: ["status": "List all interfaces. Text lists them anyway; with this option, also lo and link-local addresses."]
    ))
  var interfaces = false

  @Flag(
    help: ArgumentHelp(
      "Exit with status 0 if the network is reachable, otherwise with 1. With --for, its conditions "
        + "decide."))
  var check = false

  @Flag(
    name: .customLong("network-id"),
    help: ArgumentHelp(
      "Also print an ID by which this machine recognizes the network, for --for network=ID. Not with --follow.",
      in: ["status": "Also print an ID by which this machine recognizes the network, for --for network=ID."]))
  var networkID = false

  var given: String? { interfaces ? "--interfaces" : check ? "--check" : networkID ? "--network-id" : nil }
}

struct ServiceOptions: SharedOptions {
  @Flag(
    help: "Ask the kernel, not the service, even if one runs. Requests that programs announce are then not counted.")
  var noService = false

  var given: String? { noService ? "--no-service" : nil }

  /// Returns what a service is used for.
  ///
  /// - Parameter judgesAlike: Whether the service judges the path as the options require.
  func use(judgesAlike: Bool) -> LineSource.ServiceUse {
    noService ? .nothing : judgesAlike ? .everything : .activity
  }
}

/// The option for more details in text.
struct DetailOptions: SharedOptions {
  @Flag(
    name: .shortAndLong,
    help: ArgumentHelp(
      "In text of --follow: \(reasons) In text without --follow: \(figures) \(missing)",
      in: [
        "status": "In text: \(figures) \(missing)", "wait": "In text: \(reason). \(missing)",
        "replay": "In text: \(reason).", "explain": missing, "serve": missing,
      ]))
  var verbose = false

  var given: String? { verbose ? "--verbose" : nil }

  private static let reason = "add a sentence that says why the state has changed"
  private static let reasons =
    reason + ", and the names of what is in flight (programs with TCP connections, and labels of your own requests)."
  private static let figures =
    "add the labels of your own requests, the figures of WiFi, the round-trip time, the loss, and what keeps each interface from working."
  private static let missing =
    "If this kernel lacks something that netwatch uses, standard error says so once."
}

/// The option for the names of programs in JSON.
struct ProgramOptions: SharedOptions {
  @Flag(help: "In JSON, also name the programs whose TCP connections are in flight.")
  var programs = false

  var given: String? { programs ? "--programs" : nil }
}

extension RawRepresentable where Self: CaseIterable & SendableMetatype, RawValue == String {
  /// The closure that reads the value of an option. An `ExpressibleByArgument` would do the same, but each one makes every
  /// start of netwatch a fiftieth longer, because the runtime searches all conformances of the program.
  static var choice: @Sendable (_ word: String) throws -> Self {
    { word in
      guard let value = Self(rawValue: word) else {
        throw ValidationError(unknown: word, of: allCases.map(\.rawValue))
      }
      return value
    }
  }
}

extension Duration {
  /// Reads the value of an option, a number of seconds.
  init(seconds text: String) throws {
    self = try PlainError.asUsage { () throws(PlainError) in try Duration(checkingSeconds: text) }
  }
}

extension ArgumentHelp {
  /// Creates the help of an option that several commands share but that does not do the same in all of them.
  ///
  /// - Parameters:
  ///   - text: The help in the words of all commands that `others` does not name.
  ///   - others: The help for a command whose name stands in the command line.
  init(_ text: String, in others: KeyValuePairs<String, String>, valueName: String? = nil) {
    let shown = CommandLine.arguments.dropFirst().lazy.compactMap { word in others.first { $0.key == word } }.first
    self.init(shown?.value ?? text, valueName: valueName)
  }
}

extension ArgumentVisibility {
  /// The visibility of options that the `--help` of a subcommand leaves out. `--help-all` lists them, and completion scripts
  /// know them.
  static let rare: ArgumentVisibility = listsAll(CommandLine.arguments.dropFirst()) ? .default : .hidden

  /// The visibility of rare options of a group that these commands have, although they refuse the option.
  static func rare(notIn commands: String...) -> ArgumentVisibility {
    CommandLine.arguments.dropFirst().contains(where: commands.contains) ? .hidden : .rare
  }

  private static func listsAll(_ words: some Sequence<String>) -> Bool {
    words.elementsEqual(["help", "--all"])
      || words.contains { $0 == "--help-all" || $0.hasPrefix("--generate-completion-script") }
  }
}
