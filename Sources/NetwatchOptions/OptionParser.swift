import Netwatch

/// What a command line asks for.
package enum Request<Values> {
  case run(ParsedLine<Values>)
  /// The help of a command, or of netwatch if that is nil.
  case help(Command?, isWhole: Bool)
  case version
  /// The script that completes command lines in a shell.
  case completions(shell: String)
  /// The manual page whose source comes on standard input.
  case manual
}

/// A command line without mistakes in its form. Whether the options fit together is not checked.
package struct ParsedLine<Values> {
  package var values: Values
  /// The command that the line names; nil if it names none.
  package var named: Command?
  /// The options that the line has, in its order.
  package var given: [OptionDescription] = []

  /// What has to be done.
  package var command: Command {
    named ?? (given.contains { $0.name == OptionDescription.follow } ? .follow : .status)
  }

  /// Returns the name of the first of some options that the line has; nil if it has none.
  package func given(among names: [String]) -> String? {
    given.first { names.contains($0.name) }?.name
  }
}

/// A mistake in a command line.
package struct UsageError: Error {
  /// What is wrong, and what to do.
  package let message: String
  /// The option that the mistake is about, with its help; nil if it is about none.
  package var help: String?
  /// The command that the line names before the mistake; nil if it names none.
  package var command: Command?

  package init(_ message: String, help: String? = nil, command: Command? = nil) {
    self.message = message
    self.help = help
    self.command = command
  }
}

extension OptionDescription {
  /// The name of the option that makes netwatch go on.
  static let follow = "--follow"
}

/// Reads the command line of a program, or the options that libnetwatch gets, with one table.
package struct OptionParser<Values> {
  private let options: [Option<Values>]
  /// The command of all lines; nil if a line names its command.
  private let onlyCommand: Command?
  private var line: ParsedLine<Values>
  private var words: ArraySlice<String>
  /// The words that stand alone and do not belong to the command.
  private var extra: [String] = []
  /// The number of operands of the command that have all of their values.
  private var operands = 0

  private init(_ options: [Option<Values>], _ onlyCommand: Command?, _ words: [String], _ values: Values) {
    self.options = options
    self.onlyCommand = onlyCommand
    self.words = words[...]
    line = ParsedLine(values: values, named: onlyCommand)
  }

  /// Reads a command line.
  ///
  /// - Parameters:
  ///   - words: The words of the line without the name of the program; without that of the command if `command` is one.
  ///   - options: The options of the program.
  ///   - command: The command that is meant. Default: nil, the line names it.
  ///   - values: The values that count if the line says nothing else.
  /// - Throws: A `UsageError` about the first mistake.
  package static func request(
    _ words: [String], _ options: [Option<Values>], for command: Command? = nil, changing values: Values
  ) throws(UsageError) -> Request<Values> {
    var parser = OptionParser(options, command, words, values)
    do throws(UsageError) {
      return try parser.readAll()
    } catch {
      var error = error
      error.command = parser.line.named
      throw error
    }
  }

  private mutating func readAll() throws(UsageError) -> Request<Values> {
    if words.first == "help", onlyCommand == nil { return try helpOfCommand() }
    while let word = words.popFirst() {
      switch word {
      case "-h", "--help": return .help(line.named, isWhole: false)
      case "--help-all": return .help(line.named, isWhole: true)
      case "--version": return .version
      case "--generate-completion-script":
        guard let shell = words.popFirst() else { throw UsageError("Name a shell: bash, zsh or fish.") }
        return .completions(shell: shell)
      case "--generate-manual": return .manual
      case "--":
        while let word = words.popFirst() { try readOperand(word, mayBeCommand: false) }
      case _ where word.hasPrefix("--"): try readOption(word)
      case _ where word.hasPrefix("-") && word != "-": try readCluster(word)
      default:
        try readOperand(word)
        // Its program knows the other words.
        if onlyCommand == nil, let command = line.named, command.hasOwnProgram { words = [] }
      }
    }
    try checkWhole()
    return .run(line)
  }

  /// Reads the words after `help`.
  private mutating func helpOfCommand() throws(UsageError) -> Request<Values> {
    _ = words.popFirst()
    guard let name = words.first else { return .help(nil, isWhole: false) }
    if name == "--all" { return .help(nil, isWhole: true) }
    guard let command = Command(named: name) else { throw UsageError(noCommand: name) }
    return .help(command, isWhole: words.dropFirst().first == "--all")
  }

  // MARK: Options

  /// Reads a word that begins with two dashes, and its value.
  private mutating func readOption(_ word: String) throws(UsageError) {
    let end = word.firstIndex(of: "=") ?? word.endIndex
    let name = String(word[..<end])
    guard let option = options.first(where: { $0.about.names.contains(name) }) else {
      let known = options.filter { belongs($0.about) }.flatMap { $0.about.names.filter { $0.hasPrefix("--") } }
      let advice = known.nearest(to: name).map { ". Did you mean '\($0)'?" } ?? ""
      throw UsageError("Unknown option '\(name.sanitizedForTerminal)'\(advice)")
    }
    try read(option, name, attached: end < word.endIndex ? String(word[word.index(after: end)...]) : nil)
  }

  /// Reads a word of options with one dash, such as `-fv`. The last one may have its value in the same word, as in `-t5`.
  private mutating func readCluster(_ word: String) throws(UsageError) {
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      let name = "-\(letter)"
      guard let option = options.first(where: { $0.about.names.contains(name) }) else {
        if name == "-h" {
          // `-fh` asks for help as well, and there is nothing to read before that.
          words = ["-h"]
          return
        }
        throw UsageError("Unknown option '\(name.sanitizedForTerminal)'")
      }
      if case .none = option.about.argument {
        let value = letters.first == "=" ? String(letters.dropFirst()) : nil
        try read(option, name, attached: value)
        if value != nil { return }
      } else {
        if letters.first == "=" { letters.removeFirst() }
        return try read(option, name, attached: letters.isEmpty ? nil : String(letters))
      }
    }
  }

  /// Stores the value of an option.
  ///
  /// - Parameters:
  ///   - name: The name that the line has.
  ///   - attached: The value in the same word; nil if there is none.
  private mutating func read(_ option: Option<Values>, _ name: String, attached: String?) throws(UsageError) {
    line.given.append(option.about)
    switch option.about.argument {
    case .none:
      if let attached {
        throw UsageError(
          "The option '\(name)' does not take any value, but '\(attached.sanitizedForTerminal)' was specified.")
      }
      try store("yes", in: option, name)
    case .optional(_, let otherwise):
      let next = words.first.flatMap { word in isSuggested(word, by: option) ? words.popFirst() : nil }
      try store(attached ?? next ?? otherwise, in: option, name)
    case .value, .rest:
      if let attached { return try store(attached, in: option, name) }
      guard let next = words.first, !next.looksLikeOption else {
        throw UsageError("Missing value for '\(option.about.label(name))'", help: help(option, name))
      }
      words.removeFirst()
      try store(next, in: option, name)
    }
  }

  private func isSuggested(_ word: String, by option: Option<Values>) -> Bool {
    if case .words(let words) = option.about.suggestions { words().contains(word) } else { false }
  }

  private mutating func store(_ value: String, in option: Option<Values>, _ name: String) throws(UsageError) {
    if let need = option.need(value) { throw UsageError("\(name) needs \(need).") }
    do throws(PlainError) {
      try option.store(&line.values, value)
    } catch {
      throw UsageError(
        "The value '\(value.sanitizedForTerminal)' is invalid for '\(option.about.label(name))': \(error.description)",
        help: help(option, name))
    }
  }

  private func help(_ option: Option<Values>, _ name: String) -> String {
    "\(option.about.label(name))  \(option.about.help(in: line.named))"
  }

  // MARK: Operands

  private mutating func readOperand(_ word: String, mayBeCommand: Bool = true) throws(UsageError) {
    guard let command = line.named else {
      if !mayBeCommand {
        extra.append(word)
      } else if let command = Command(named: word) {
        line.named = command
      } else if line.given.isEmpty, extra.isEmpty, !word.isEmpty {
        throw UsageError(noCommand: word)
      } else {
        extra.append(word)
      }
      return
    }
    let possible = options.filter { $0.about.isOperand && $0.about.commands.contains(command) }
    guard operands < possible.count else { return extra.append(word) }
    let operand = possible[operands]
    try store(word, in: operand, operand.about.name)
    line.given.append(operand.about)
    if case .rest = operand.about.argument {
      while let word = words.popFirst() { try store(word, in: operand, operand.about.name) }
    } else if !operand.about.mayRepeat {
      operands += 1
    }
  }

  // MARK: The whole line

  private func checkWhole() throws(UsageError) {
    if let first = extra.first {
      throw UsageError(
        extra.count == 1
          ? "Unexpected argument '\(first.sanitizedForTerminal)'"
          : "\(extra.count) unexpected arguments: '\(extra.joined(separator: "', '").sanitizedForTerminal)'")
    }
    if let option = line.given.first(where: { !$0.commands.contains(line.command) }) {
      throw UsageError(refusal(of: option))
    }
    let isPassedOn = onlyCommand == nil && line.command.hasOwnProgram
    let missing = options.first { option in
      option.about.isRequired && option.about.commands.contains(line.command)
        && !line.given.contains { $0.name == option.about.name }
    }
    if let missing, !isPassedOn {
      let about = missing.about
      throw UsageError(
        "Missing expected argument '\(about.name)\(about.mayRepeat ? " ..." : "")'", help: help(missing, about.name))
    }
  }

  /// Returns why a command has no use for an option, and what to do.
  private func refusal(of option: OptionDescription) -> String {
    let (name, command, places) = (option.name, line.command, option.commands.map(\.rawValue))
    if name == OptionDescription.follow {
      return "\(name) works only without a command; leave out \(command.rawValue)."
    }
    if option.commands.contains(.follow), line.named == nil || line.named == .status || places.count == 1 {
      return "\(name) belongs to --follow; use netwatch -f."
    }
    if command == .follow, option.commands.contains(.status) {
      return "\(name) belongs to \(places.joined(separator: " and ")); leave out --follow."
    }
    if line.named == nil { return "\(name) belongs to \(places[0]); use netwatch \(places[0])." }
    return "\(command.rawValue) does nothing with \(name); leave it out."
  }

  private func belongs(_ option: OptionDescription) -> Bool {
    line.named.map(option.commands.contains) ?? option.isOfNetwatch
  }
}

extension UsageError {
  fileprivate init(noCommand name: String) {
    let advice =
      Command.names.nearest(to: name).map { "Did you mean '\($0)'?" } ?? "'netwatch --help' lists the commands."
    self.init("There is no command '\(name.sanitizedForTerminal)'. \(advice)")
  }
}

extension String {
  /// Whether the word is an option and no value. A negative number and `-` alone are values.
  fileprivate var looksLikeOption: Bool {
    guard hasPrefix("-"), let second = dropFirst().first else { return false }
    return !second.isNumber && second != "."
  }
}
