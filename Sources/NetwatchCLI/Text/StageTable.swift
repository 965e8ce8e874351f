import Netwatch

/// A table with a line for each stage, which says what is known of it:
///
/// ```
///   ✓ link      up
///   ✓ address   192.168.122.10
///   ✗ gateway   192.168.122.1 does not answer
///   ? DNS       not checked (a route to 192.168.122.1 exists); add --probe URL to check
///   ? internet  not checked; add --probe URL to check
/// ```
struct StageTable {
  private static let column = (mark: 2, name: 4, words: 14)

  let stages: NetworkStages
  let terminal: Terminal

  var text: String {
    NetworkStage.allCases.map { stage in
      let finding = stages[stage]
      let (mark, color) = terminal.appearance(of: finding.state)
      var line = terminal.foldedText(indent: Self.column.words)
      line.append(mark, color, at: Self.column.mark)
      line.append(stage.words, color, at: Self.column.name)
      line.append(stages.words(of: stage), finding.state == .unknown ? .dim : nil, at: Self.column.words)
      return line.lines
    }.joined()
  }
}

extension Terminal {
  /// Returns the mark of a state, and its colour.
  func appearance(of state: StageFinding.State) -> (mark: String, color: TextColor) {
    switch state {
    case .ok: (isUnicode ? "✓" : "+", .green)
    case .failed: (isUnicode ? "✗" : "!", .red)
    case .unknown: ("?", .dim)
    }
  }
}
