/// A manual page in mdoc(7), in which the synopsis and the lists of options come from their descriptions.
///
/// A line `.\"synopsis COMMAND…` of the page becomes the synopses of these commands, `.\"command COMMAND` the head of an item with
/// its synopsis, and `.\"options COMMAND… [= HEADING]` the
/// items of a list: the options of these commands that stand under this heading, or all if there is none. `follow` is netwatch
/// without the name of a command.
package struct ManualPage {
  private let options: [OptionDescription]

  /// - Parameter options: The options of all commands.
  package init(_ options: [OptionDescription]) { self.options = options }

  /// Returns the whole page.
  ///
  /// - Parameter source: The page with the lines that are replaced.
  /// - Throws: A `UsageError` that names a command that there is not.
  package func text(from source: String) throws(UsageError) -> String {
    var page = ""
    for line in source.split(separator: "\n", omittingEmptySubsequences: false).dropLast(source.hasSuffix("\n") ? 1 : 0)
    {
      let words = line.split(separator: " ").map(String.init)
      switch words.first {
      case #".\"synopsis"#: for command in try commands(words.dropFirst()) { page += synopsis(of: command) }
      case #".\"command"#:
        for command in try commands(words.dropFirst()) {
          page += ".It Cm \(command.rawValue.inRoff) \(arguments(of: command).map(\.inItem).joined(separator: " "))\n"
        }
      case #".\"options"#:
        let end = words.firstIndex(of: "=") ?? words.endIndex
        let heading = words[end...].dropFirst().joined(separator: " ")
        let wanted = try commands(words[..<end].dropFirst())
        let shown = options.filter { option in
          !option.isOperand && option.commands.contains(where: wanted.contains)
            && (end == words.endIndex || option.group ?? "" == heading)
        }
        // The words of netwatch itself where it is among the commands.
        let place: Command? = wanted.contains(.follow) || wanted.count > 1 ? nil : wanted.first
        for option in shown { page += item(option, in: place) }
      default: page += line + "\n"
      }
    }
    return page
  }

  private func commands(_ names: ArraySlice<String>) throws(UsageError) -> [Command] {
    var commands: [Command] = []
    for name in names {
      guard let command = Command(rawValue: name) else { throw UsageError("A page names the command '\(name)'.") }
      commands.append(command)
    }
    return commands
  }

  private func synopsis(of command: Command) -> String {
    let name = command == .follow ? "" : ".Cm \(command.rawValue.inRoff)\n"
    return ".Nm\n" + name + arguments(of: command).map { ".\($0)\n" }.joined()
  }

  /// Returns the options and operands of a command as macros.
  private func arguments(of command: Command) -> [String] {
    let shown = options.filter { $0.commands.contains(command) && !$0.rareCommands.contains(command) }
    let named = shown.filter { !$0.isOperand }
    // More would hide what the command is for.
    let isShort = command != .follow && named.count <= 10
    return (isShort ? named.map { "Op \($0.inRoff)" } : ["Op Ar options"])
      + shown.filter(\.isOperand).map { operand in
        let name = "Ar \(operand.valueName ?? "")" + (operand.mayRepeat ? " ..." : "")
        return operand.isRequired ? name : "Op \(name)"
      }
  }

  private func item(_ option: OptionDescription, in command: Command?) -> String {
    let names = option.names.map { "\($0.dropFirst())" }.joined(separator: " , ")
    var text = ".It Fl \(names)\(option.argumentInRoff)\n\(option.help(in: command).sentencesInRoff)"
    if let manual = option.manual { text += manual.sentencesInRoff }
    return text
  }
}

extension OptionDescription {
  fileprivate var inRoff: String { "Fl \(name.dropFirst())\(argumentInRoff)" }

  fileprivate var argumentInRoff: String {
    switch argument {
    case .none: ""
    case .value(let name), .rest(let name): " Ar \(name.inRoff)"
    case .optional(let name, _): " Op Ar \(name.inRoff)"
    }
  }
}

extension String {
  /// The arguments of a macro, which end where those of the next one begin.
  fileprivate var inItem: String { hasPrefix("Op ") ? "Oo \(dropFirst(3)) Oc" : self }

  /// The text with the characters escaped that have a meaning for roff.
  fileprivate var inRoff: String { replacing("\\", with: "\\e").replacing("-", with: "\\-") }

  /// The text in lines of one sentence each, with the names of options in bold.
  fileprivate var sentencesInRoff: String {
    var lines = [""]
    for word in split(whereSeparator: { $0 == " " || $0 == "\n" }) {
      let endsSentence = lines[lines.count - 1].last.map { ".:".contains($0) } ?? false
      if endsSentence, word.first?.isUppercase ?? false { lines.append("") }
      var text = String(word).replacing("\\", with: "\\e")
      if text.hasPrefix("--") || text.hasPrefix("'--") {
        let end = text.lastIndex { $0.isLetter } ?? text.startIndex
        text = "\\fB" + text[...end].replacing("-", with: "\\-") + "\\fR" + text[text.index(after: end)...]
      }
      lines[lines.count - 1] += (lines[lines.count - 1].isEmpty ? "" : " ") + text
    }
    return lines.map { (".'".contains($0.first ?? " ") ? "\\&" : "") + $0 + "\n" }.joined()
  }
}
