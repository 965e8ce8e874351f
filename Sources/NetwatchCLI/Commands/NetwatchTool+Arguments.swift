import Netwatch

extension NetwatchTool {
  /// The command line as the parser understands it, for which every option has a value: `--signal` alone is `--signal=steps`.
  public static func arguments(_ words: some Sequence<String>) -> [String] {
    let words = Array(words)
    let end = words.firstIndex(of: "--") ?? words.endIndex
    return words.enumerated().map { position, word in
      guard word == "--signal", position < end else { return word }
      let next = position + 1 < end ? words[position + 1] : ""
      return WiFiReporting.SignalChanges(rawValue: next) == nil
        ? "--signal=\(WiFiReporting.SignalChanges.steps.rawValue)" : word
    }
  }
}
