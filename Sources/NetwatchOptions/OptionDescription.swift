/// What helps, completions, manual pages and refusals say of an option.
///
/// An operand, which stands alone and not after a name, is described as an option without names. A table makes its descriptions
/// anew each time, and nothing changes them later.
package final class OptionDescription {
  /// What stands after the name of an option.
  package enum Argument: Sendable {
    /// Nothing: the option is a flag.
    case none
    /// A value with this name in helps.
    case value(String)
    /// A value that may be left out, with the value that then counts.
    case optional(String, otherwise: String)
    /// This word and all after it.
    case rest(String)
  }

  /// The values that completions offer.
  package enum Suggestions: Sendable {
    case none, files, folders, interfaces, programs
    /// Words that a function returns, because most starts of a program need none.
    case words(@Sendable () -> [String])
  }

  /// The names with their dashes, such as `-i` and `--interface`, the long one last.
  package let names: [String]
  package internal(set) var argument: Argument
  /// The commands that have the option.
  package let commands: [Command]
  /// The commands whose `--help` leaves the option out, of those that have it. `--help-all` lists it.
  package internal(set) var rareCommands: [Command] = []
  /// The heading in the help of netwatch itself; nil for an option that stands under none.
  package internal(set) var group: String?
  /// The help, which is composed only if it is asked for.
  let help: @Sendable () -> String
  /// The help in commands where the option does something else.
  var otherHelp: [(commands: [Command], text: @Sendable () -> String)] = []
  /// The value that counts if the option is not given, in words; nil if the help need not say so.
  package internal(set) var standard: String?
  /// What the manual says beside the help; nil if that is nothing.
  package internal(set) var manual: String?
  package internal(set) var mayRepeat = false
  package internal(set) var isRequired = false
  package internal(set) var suggestions = Suggestions.none
  /// Whether libnetwatch has the option too, by the long name without its dashes.
  package internal(set) var isInLibrary = false

  init(
    names: [String], argument: Argument, commands: [Command], help: @autoclosure @escaping @Sendable () -> String
  ) {
    self.names = names
    self.argument = argument
    self.commands = commands
    self.help = help
  }

  /// The name in sentences, such as `--interface`, or `<file>` for an operand.
  package var name: String { names.last ?? "<\(valueName ?? "")>" }

  /// The name of the value in helps; nil for a flag.
  var valueName: String? {
    switch argument {
    case .none: nil
    case .value(let name), .optional(let name, _), .rest(let name): name
    }
  }

  var isOperand: Bool { names.isEmpty }

  /// Whether netwatch has the option without the name of a command.
  var isOfNetwatch: Bool { commands.contains(.follow) || commands.contains(.status) }

  /// Returns what the option does.
  ///
  /// - Parameter command: The command; nil for netwatch without the name of one.
  package func help(in command: Command?) -> String {
    let text = command.flatMap { command in otherHelp.first { $0.commands.contains(command) }?.text() } ?? help()
    guard let standard, !text.contains("Default: ") else { return text }
    return "\(text) Default: \(standard)."
  }

  /// Returns a name with its value, as helps and refusals write it, such as `--hold <seconds>`.
  func label(_ name: String) -> String {
    guard let valueName, !isOperand else { return name }
    return "\(name) <\(valueName)>"
  }
}
