extension [String] {
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
