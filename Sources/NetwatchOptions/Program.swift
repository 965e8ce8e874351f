import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// What a program does with its command line.
package enum Program {
  /// Reads the command line, does what it asks for, and ends the process.
  ///
  /// A mistake in the line is answered with a sentence and the exit status 64, another error with a sentence and 2.
  ///
  /// - Parameters:
  ///   - words: The words after the name of the program; without that of the command if `command` is one.
  ///   - options: The options of the program.
  ///   - others: The options of other programs that do the work of some commands. Default: none.
  ///   - command: The command that is meant. Default: nil, the line names it.
  ///   - values: The values that count if the line says nothing else.
  ///   - body: Does the work, and returns how the process ends.
  package static func run<Values>(
    _ words: [String], _ options: [Option<Values>], beside others: @autoclosure () -> [OptionDescription] = [],
    for command: Command? = nil,
    changing values: Values, _ body: (ParsedLine<Values>) throws -> ProcessEnding
  ) -> Never {
    StandardError.keepPlace()
    func descriptions() -> [OptionDescription] { options.map(\.about) + others() }
    do {
      let request = try OptionParser.request(words, options, for: command, changing: values)
      switch request {
      case .run(let line):
        do {
          exit(try body(line).imitate())
        } catch var error as UsageError {
          error.command = line.named
          throw error
        }
      case .help(let command, let isWhole):
        let columns = FileDescriptor.columns(of: STDOUT_FILENO) ?? 80
        try write(HelpText(descriptions(), columns: columns).text(of: command, isWhole: isWhole))
      case .version: try write(NetwatchVersion.text + "\n")
      case .completions(let shell): try write(CompletionScript(descriptions()).text(for: shell))
      case .manual:
        var source = ""
        while let line = readLine(strippingNewline: false) { source += line }
        try write(ManualPage(descriptions()).text(from: source))
      }
    } catch let error as UsageError {
      let help = error.help.map { "Help:  \($0)\n" } ?? ""
      StandardError.write(
        "Error: \(error.message)\n\(help)\(HelpText(descriptions()).usage(of: error.command))")
      exit(64)
    } catch {
      StandardError.warn("\(error)".sanitizedForTerminal)
      exit(2)
    }
    exit(0)
  }

  /// Ends a helper program that somebody has started without a command.
  ///
  /// - Parameters:
  ///   - program: The name of the program.
  ///   - command: The command of netwatch that starts it.
  package static func refuse(_ program: String, insteadOf command: Command) -> Never {
    StandardError.write("Error: \(program) is a part of netwatch; use netwatch \(command.rawValue).\n")
    exit(64)
  }

  /// Writes a text to standard output. A reader that has gone is not an error.
  private static func write(_ text: String) throws(PlainError) {
    SignalSource.discard([SIGPIPE])
    do throws(SystemError) {
      try unsafe FileDescriptor.writeAll([UInt8](text.utf8).span.bytes, to: STDOUT_FILENO)
    } catch {
      if error.code != EPIPE { throw PlainError("cannot write to standard output: \(error.message)") }
    }
  }
}
