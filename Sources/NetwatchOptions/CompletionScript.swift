import Netwatch

/// Scripts that complete the command lines of netwatch in a shell, made from the descriptions of the options.
struct CompletionScript {
  private let options: [OptionDescription]

  /// - Parameter options: The options of all commands.
  init(_ options: [OptionDescription]) {
    self.options = options.filter { option in option.commands.contains { $0.isForUsers } }
  }

  /// Returns the script.
  ///
  /// - Parameter shell: `bash`, `zsh` or `fish`.
  /// - Throws: A `UsageError` for another shell.
  func text(for shell: String) throws(UsageError) -> String {
    switch shell {
    case "bash": bash
    case "zsh": zsh
    case "fish": fish
    default: throw UsageError("There are scripts for bash, zsh and fish, and none for '\(shell.sanitizedForTerminal)'.")
    }
  }

  /// The options of a command with names; nil is netwatch without a command.
  private func named(_ command: Command?) -> [OptionDescription] {
    options.filter { option in !option.isOperand && (command.map(option.commands.contains) ?? option.isOfNetwatch) }
  }

  private func operand(_ command: Command) -> OptionDescription? {
    options.first { $0.isOperand && $0.commands.contains(command) }
  }

  // MARK: bash

  private var bash: String {
    let general = ["--help", "--help-all", "--version"]
    func words(_ command: Command?) -> String { (named(command).flatMap(\.names) + general).joined(separator: " ") }
    var text = """
      # Completes the command lines of netwatch in bash.
      _netwatch() {
        local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= prefix= place start word
        COMPREPLY=()
        for ((place = 1; place < COMP_CWORD; place++)); do
          word=${COMP_WORDS[place]}
          case $word in \(Command.names.joined(separator: "|"))) command=$word start=$((place + 1)); break ;; esac
        done
        # The shell takes each = as a word, those of --name=value and of a value such as stage=dns.
        place=$((COMP_CWORD - 1))
        if [ "$current" = = ]; then
          current=
        elif [ "$before" = = ]; then
          place=$((place - 1))
        fi
        before=${COMP_WORDS[place]}
        if ((place < COMP_CWORD - 1)) || [ "${COMP_WORDS[COMP_CWORD]}" = = ]; then
          if [[ $before != -* ]]; then
            prefix=$before= current=$before=$current place=$((place - 1))
            [ "${COMP_WORDS[place]}" != = ] || place=$((place - 1))
            before=${COMP_WORDS[place]}
          fi
        fi
        case $before in

      """
    var seen: Set<String> = []
    for option in options where !option.isOperand && option.argument.isNeeded && seen.insert(option.name).inserted {
      text +=
        "    \(option.names.joined(separator: "|"))) \(option.suggestions.inBash); COMPREPLY=(\"${COMPREPLY[@]#\"$prefix\"}\"); return ;;\n"
    }
    text += "  esac\n  if [[ $current != -* ]]; then\n    case $command in\n"
    text +=
      "      '') COMPREPLY=($(compgen -W '\(Command.names.joined(separator: " ")) help' -- \"$current\")); return ;;\n"
    for command in Command.named {
      guard let operand = operand(command) else { continue }
      if case .rest = operand.argument {
        text += "      \(command.rawValue)) declare -F _command_offset >/dev/null && _command_offset $start || "
        text += "COMPREPLY=($(compgen -c -- \"$current\")); return ;;\n"
      } else {
        text += "      \(command.rawValue)) \(operand.suggestions.inBash); return ;;\n"
      }
    }
    text += "    esac\n  fi\n  case $command in\n"
    for command in Command.named {
      text += "    \(command.rawValue)) word='\(words(command))' ;;\n"
    }
    return text + """
          *) word='\(words(nil))' ;;
        esac
        COMPREPLY=($(compgen -W "$word" -- "$current"))
      }
      complete -F _netwatch netwatch

      """
  }

  // MARK: zsh

  private var zsh: String {
    func arguments(_ command: Command?) -> [String] {
      let specifications = named(command).map { option in
        let text = "[\(option.help(in: command).firstSentence.inZsh)]\(option.argument.inZsh(option.suggestions))"
        // The value may follow in the same word: `--count=3`, `-t5`.
        let names = option.names.map { name in
          option.argument.isNeeded ? name + (name.hasPrefix("--") ? "=" : "+") : name
        }
        let star = option.mayRepeat ? "*" : ""
        if names.count == 1 { return "'\(star)\(names[0])\(text)'" }
        let others = option.mayRepeat ? "'*'" : "'(\(option.names.joined(separator: " ")))'"
        return "\(others){\(names.joined(separator: ","))}'\(text)'"
      }
      return specifications + ["'(- *)'{-h,--help}'[Show help information.]'", "'(- *)--version[Show the version.]'"]
    }
    func call(_ command: Command?, _ rest: [String]) -> String {
      "_arguments -s " + (arguments(command) + rest).joined(separator: " \\\n      ")
    }
    var text = "#compdef netwatch\n# Completes the command lines of netwatch in zsh.\n_netwatch() {\n"
    text += "  local context state state_descr line\n  typeset -A opt_args\n  "
    text += call(nil, ["'1:command:->command'", "'*::arguments:->arguments'"]) + "\n"
    text += "  case $state in\n  command)\n    local -a commands=(\n"
    for command in Command.named { text += "      '\(command.rawValue):\(command.abstract.inZsh)'\n" }
    text += "    )\n    _describe command commands\n    ;;\n  arguments)\n    case $line[1] in\n"
    for command in Command.named {
      var rest: [String] = []
      if let operand = operand(command) {
        let values = operand.suggestions.inZsh
        if case .rest = operand.argument {
          rest = ["'*::command:_normal'"]
        } else {
          rest = ["'1:\(operand.valueName ?? ""):\(values)'"]
        }
      }
      text += "    \(command.rawValue))\n      \(call(command, rest))\n      ;;\n"
    }
    return text + "    esac\n    ;;\n  esac\n}\n_netwatch \"$@\"\n"
  }

  // MARK: fish

  private var fish: String {
    let all = Command.names.joined(separator: " ")
    var text = """
      # Completes the command lines of netwatch in fish.
      complete -c netwatch -f
      complete -c netwatch -n 'not __fish_seen_subcommand_from \(all)' -s h -l help -d 'Show help information.'
      complete -c netwatch -l version -d 'Show the version.'

      """
    for command in Command.named {
      text += "complete -c netwatch -n 'not __fish_seen_subcommand_from \(all)' -a \(command.rawValue)"
      text += " -d '\(command.abstract.inFish)'\n"
    }
    for command in [Command?.none] + Command.named {
      let condition =
        command.map { "__fish_seen_subcommand_from \($0.rawValue)" } ?? "not __fish_seen_subcommand_from \(all)"
      for option in named(command) {
        text += "complete -c netwatch -n '\(condition)'"
        for name in option.names {
          text += name.hasPrefix("--") ? " -l \(name.dropFirst(2))" : " -s \(name.dropFirst())"
        }
        if option.argument.isNeeded { text += " -r" }
        text += "\(option.suggestions.inFish) -d '\(option.help(in: command).firstSentence.inFish)'\n"
      }
      if let command, let operand = operand(command) {
        let values =
          if case .rest = operand.argument { " -a '(__fish_complete_subcommand --fcs-skip=2)'" } else {
            operand.suggestions.inFish
          }
        text += "complete -c netwatch -n '\(condition)'\(values)\n"
      }
    }
    return text
  }
}

extension Command {
  fileprivate var isForUsers: Bool { self == .follow || Self.named.contains(self) }
}

extension OptionDescription.Argument {
  /// Whether a value has to follow the name.
  fileprivate var isNeeded: Bool { if case .value = self { true } else { false } }

  fileprivate func inZsh(_ suggestions: OptionDescription.Suggestions) -> String {
    switch self {
    case .none: ""
    case .value(let name), .rest(let name): ":\(name):\(suggestions.inZsh)"
    case .optional(let name, _): "::\(name):\(suggestions.inZsh)"
    }
  }
}

extension OptionDescription.Suggestions {
  /// The command that puts the values into COMPREPLY.
  fileprivate var inBash: String {
    let list =
      switch self {
      case .none: ""
      case .files: "compgen -f -- \"$current\""
      case .folders: "compgen -d -- \"$current\""
      case .interfaces: "compgen -W \"$(ls /sys/class/net)\" -- \"$current\""
      case .programs: "compgen -c -- \"$current\""
      case .words(let words): "compgen -W '\(words().joined(separator: " "))' -- \"$current\""
      }
    return list.isEmpty ? ":" : "COMPREPLY=($(\(list)))"
  }

  fileprivate var inZsh: String {
    switch self {
    case .none: "()"
    case .files: "_files"
    case .folders: "_files -/"
    case .interfaces: "_net_interfaces"
    case .programs: "_command_names -e"
    case .words(let words): "(\(words().joined(separator: " ")))"
    }
  }

  fileprivate var inFish: String {
    switch self {
    case .none: ""
    case .files: " -F"
    case .folders: " -a '(__fish_complete_directories)'"
    case .interfaces: " -a '(__fish_print_interfaces)'"
    case .programs: " -a '(__fish_complete_command)'"
    case .words(let words): " -a '\(words().joined(separator: " "))'"
    }
  }
}

extension String {
  /// The text up to the first full stop that ends a sentence, without the stop.
  fileprivate var firstSentence: String {
    firstRange(of: ". ").map { String(self[..<$0.lowerBound]) } ?? (hasSuffix(".") ? String(dropLast()) : self)
  }

  /// The text within a description of `_arguments`, which stands in single quotes.
  fileprivate var inZsh: String {
    String(flatMap { "[]:\\".contains($0) ? "\\\($0)" : $0 == "'" ? "'\\''" : String($0) })
  }

  fileprivate var inFish: String { String(flatMap { "'\\".contains($0) ? "\\\($0)" : String($0) }) }
}
