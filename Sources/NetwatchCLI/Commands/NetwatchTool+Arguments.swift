import ArgumentParser
import Netwatch

extension NetwatchTool {
  /// Parses the command line and runs the command. Exits if that fails, as ArgumentParser does.
  ///
  /// - Parameter words: The command line without the name of the program.
  public static func start(_ words: some Sequence<String>) {
    guard let tool = common(words) else { return main(arguments(words)) }
    do { try tool.run() } catch { exit(withError: error) }
  }

  /// The command line as the parser understands it, for which every option has a value: `--signal` alone is `--signal=steps`.
  static func arguments(_ words: some Sequence<String>) -> [String] {
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
