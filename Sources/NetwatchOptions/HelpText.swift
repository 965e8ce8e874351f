import Netwatch

/// The help of netwatch and of its commands, made from the descriptions of the options.
package struct HelpText {
  private static let labelColumn = 26
  /// A usage with more options than this names none of them.
  private static let mostOptionsInUsage = 12

  private let options: [OptionDescription]
  private let columns: Int

  /// - Parameters:
  ///   - options: The options of all commands.
  ///   - columns: The width of the terminal. Default: 80.
  package init(_ options: [OptionDescription], columns: Int = 80) {
    self.options = options
    // The labels have to leave room for the help.
    self.columns = max(columns, 2 * Self.labelColumn)
  }

  /// Returns the help of a command; nil is netwatch itself.
  ///
  /// - Parameter isWhole: Whether options that few people need are listed, too. The short help of netwatch has only those that
  ///   most people need.
  package func text(of command: Command?, isWhole: Bool) -> String {
    guard let command else { return isWhole ? wholeHelp : Self.shortHelp }
    let discussion = command.discussion.map { "\n\n" + $0 } ?? ""
    var text = folded("OVERVIEW: \(command.abstract)\(discussion)", indent: 0) + "\n"
    let shown = options(of: command, isWhole: isWhole)
    text += "\nUSAGE: \(synopsis(of: command, shown))\n"
    text += section("ARGUMENTS", shown.filter(\.isOperand), of: command)
    text += section("OPTIONS", shown.filter { !$0.isOperand } + Self.general, of: command)
    return text
  }

  /// Returns the lines beneath a refusal that say how a command is used.
  package func usage(of command: Command?) -> String {
    let name = command.map { "netwatch \($0.rawValue)" } ?? "netwatch"
    let line = command.map { synopsis(of: $0, options(of: $0, isWhole: false)) } ?? Self.usage
    return "Usage: \(line)\n  See '\(name) --help' for more information.\n"
  }

  // MARK: Commands

  private func options(of command: Command, isWhole: Bool) -> [OptionDescription] {
    options.filter { $0.commands.contains(command) && (isWhole || !$0.rareCommands.contains(command)) }
  }

  private func synopsis(of command: Command, _ shown: [OptionDescription]) -> String {
    if let usage = command.usage { return usage }
    let words: [String]
    if shown.count <= Self.mostOptionsInUsage {
      words = shown.map(\.synopsis)
    } else {
      words = ["[<options>]"] + shown.filter(\.isOperand).map(\.synopsis)
    }
    return (["netwatch \(command.rawValue)"] + words).joined(separator: " ")
  }

  /// The options that every command has. The parser knows them without a table.
  private static var general: [OptionDescription] {
    [
      OptionDescription(names: ["--version"], argument: .none, commands: [], help: "Show the version."),
      OptionDescription(names: ["-h", "--help"], argument: .none, commands: [], help: "Show help information."),
    ]
  }

  // MARK: netwatch itself

  private static let usage = "netwatch [<subcommand>] [<options>]"

  private static let overview = """
    OVERVIEW: Shows whether this machine is online, over which connection, and why that changed.

    Without options, netwatch prints the present state and exits. In JSON, the status "wifi" means everything reachable that is \
    not cellular, as in AFNetworking; "medium" is the exact kind.

    Exit status: 0: done. 1: with --check, not reachable, or a condition does not hold; with explain, not reachable; with wait, \
    timed out. 2: could not run. 64: wrong usage. Without --check, the state does not change the exit status of netwatch and \
    status.
    """

  private var wholeHelp: String {
    var text = folded(Self.overview, indent: 0) + "\n\nUSAGE: \(Self.usage)\n"
    let own = options.filter { !$0.isOperand && $0.isOfNetwatch }
    var groups: [String] = []
    for group in own.compactMap(\.group) where !groups.contains(group) { groups.append(group) }
    for group in groups { text += section(group.uppercased(), own.filter { $0.group == group }, of: nil) }
    text += section("OPTIONS", own.filter { $0.group == nil } + Self.general, of: nil)
    text += "\nSUBCOMMANDS:\n" + Command.named.map { element($0.rawValue, $0.abstract) }.joined()
    return text + "\n  See 'netwatch help <subcommand>' for detailed help.\n"
  }

  /// The commands, and the options that most people need. The text fits a terminal of 80 columns and 24 lines.
  private static let shortHelp = """
    netwatch shows whether this machine is online, over which connection, and why.

    Usage: netwatch [COMMAND] [OPTIONS]         Without a command: the present state

    Commands
      status, explain     print the state once; explain it step by step
      wait, open          wait for the network; open a captive portal's login page
      run, serve          show "busy" while a command runs; run the shared service
      top, log, report    traffic by program; past outages, as text or as a page
      get, transfers      download and resume a file; show those in the background
      snippet, test-hook  print the configuration of a status bar; try a hook
      replay, mqtt        play a recording; tell a broker about this machine
    State
      -f, --follow        print the state, then a line for each change
      --check             exit with status 1 unless reachable
      --target HOST       judge the way to an address, a host or HOST:PORT
      --probe URL         also ask this URL whether the internet is there
      --stages            also print which stage fails, from link to internet
    Output
      --json              print JSON lines; --format NAME for a status bar
      -v, --verbose       print more, such as the reason in a sentence

    'netwatch COMMAND --help' explains a command, 'netwatch --help-all' all options.

    """

  // MARK: Layout

  private func section(_ title: String, _ options: [OptionDescription], of command: Command?) -> String {
    guard !options.isEmpty else { return "" }
    return "\n\(title):\n" + options.map { element($0.heading, $0.help(in: command)) }.joined()
  }

  /// Returns a label with its text beside it, or below if the label is too long.
  private func element(_ label: String, _ text: String) -> String {
    let label = "  " + label
    let text = folded(text, indent: Self.labelColumn)
    return label.count < Self.labelColumn ? label + text.dropFirst(label.count) + "\n" : "\(label)\n\(text)\n"
  }

  /// Returns a text whose lines begin in a column and end at the terminal's width.
  private func folded(_ text: String, indent: Int) -> String {
    let margin = String(repeating: " ", count: indent)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { paragraph in
      var lines: [String] = []
      for word in paragraph.split(separator: " ", omittingEmptySubsequences: false) {
        // The last column stays free.
        if let last = lines.last, indent + last.count + 1 + word.count < columns {
          lines[lines.count - 1] += " " + word
        } else {
          lines.append(String(word))
        }
      }
      return lines
    }
    return lines.map { $0.isEmpty ? "" : margin + $0 }.joined(separator: "\n")
  }
}

extension OptionDescription {
  /// All names, and the value, as a help lists them: `-i, --interface <glob>`.
  fileprivate var heading: String { label(isOperand ? name : names.joined(separator: ", ")) }

  /// The option in a usage: `[--for <condition> ...]`.
  fileprivate var synopsis: String {
    let text = label(name) + (mayRepeat ? " ..." : "")
    return isRequired ? text : "[\(text)]"
  }
}
