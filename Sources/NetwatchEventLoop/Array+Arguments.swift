import Glibc

extension [String] {
  /// Returns the words of this process's command line after the name of the program.
  ///
  /// Swift reads the command line from `/proc/self/cmdline`. Without it, the process ends with status 2 and a sentence: a command
  /// without its options would do something that nobody has asked for.
  package static func ofCommandLine() -> [String] {
    let words = CommandLine.arguments
    guard !words.isEmpty else {
      StandardError.tell("cannot read the arguments, because there is no /proc; mount it, and try again")
      exit(2)
    }
    return Array(words.dropFirst())
  }

  /// Returns the words of a command line in the form that ArgumentParser needs: a negative number, which would be taken for an
  /// option, is joined by `=` to the option before it. Words after `--` stay as they are.
  package func joiningNegativeValues() -> [String] {
    var joined: [String] = []
    let end = firstIndex(of: "--") ?? endIndex
    for word in self[..<end] {
      if word.isNegativeNumber, let option = joined.last, option.hasPrefix("-"), !option.contains("=") {
        joined[joined.count - 1] += "=" + word
      } else {
        joined.append(word)
      }
    }
    return joined + self[end...]
  }
}

extension String {
  fileprivate var isNegativeNumber: Bool {
    hasPrefix("-") && (dropFirst().first.map { $0.isNumber || $0 == "." } ?? false)
  }
}
