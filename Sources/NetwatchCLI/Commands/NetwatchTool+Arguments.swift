import ArgumentParser
import Glibc
import Netwatch
import NetwatchEventLoop

extension NetwatchTool {
  /// Parses the command line and runs the command. Exits if that fails, as ArgumentParser does.
  ///
  /// - Parameter words: The command line without the name of the program.
  public static func start(_ words: some Sequence<String>) {
    do {
      if let tool = common(words) { return try tool.run() }
      let words = Array(words)
      if [["--help"], ["-h"], ["help"]].contains(words) {
        return try PlainError.reporting { try StandardOutput().write(shortHelp) }
      }
      StandardError.tellOfLostOutput()
      try refuseUnknownCommand((words.first == "help" ? words.dropFirst() : words[...]).first ?? "")
      main(arguments(words))
    } catch let code as ExitCode {
      // ArgumentParser would also exit, but after a search that takes four times as long as the command.
      Glibc.exit(code.rawValue)
    } catch {
      exit(withError: error)
    }
  }

  /// Returns the command line in the form that ArgumentParser needs: every option has a value, and `--help` has one scope.
  ///
  /// - Parameter words: The command line without the name of the program.
  static func arguments(_ words: some Sequence<String>) -> [String] {
    var words = Array(words)
    if words == ["help", "--all"] { words = ["--help-all"] }
    let end = words.firstIndex(of: "--") ?? words.endIndex
    var arguments: [String] = []
    for (position, word) in words[..<end].enumerated() {
      let next = position + 1 < end ? words[position + 1] : ""
      if word == "--help-all" {
        // `ArgumentVisibility.rare` decides what the help lists.
        arguments.append("--help")
      } else if word == "--signal", WiFiReporting.SignalChanges(rawValue: next) == nil {
        arguments.append("--signal=\(WiFiReporting.SignalChanges.steps.rawValue)")
      } else {
        arguments.append(word)
      }
    }
    return (arguments + words[end...]).joiningNegativeValues()
  }

  /// Throws a `ValidationError` if there is no such command. ArgumentParser would call it an unexpected argument.
  private static func refuseUnknownCommand(_ word: String) throws {
    let names = configuration.subcommands.compactMap { $0.configuration.commandName }
    guard !word.isEmpty, !word.hasPrefix("-"), word != "help", !names.contains(word) else { return }
    let advice = names.nearest(to: word).map { "Did you mean '\($0)'?" } ?? "'netwatch --help' lists the commands."
    throw ValidationError("There is no command '\(word.harmless)'. \(advice)")
  }

  /// The text of `--help`: the commands, and the options that most people need. The text fits a terminal of 80 columns and 24
  /// lines.
  static let shortHelp = """
    netwatch shows whether this machine is online, over which connection, and why.

    Usage: netwatch [COMMAND] [OPTIONS]         Without a command: the present state

    Commands
      status, explain     print the state once; explain it step by step
      wait, open          wait for the network; open a captive portal's login page
      run, serve          show "busy" while a command runs; run the shared service
      top, log, report    traffic by program; past outages, as text or as a page
      get                 download a file, and resume an interrupted download
      snippet             print the configuration of a status bar
      replay, test-hook   play a recording; try a hook
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
}
