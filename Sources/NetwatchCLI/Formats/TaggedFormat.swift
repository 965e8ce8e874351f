import Netwatch

/// A format that colours a line by tags around it.
protocol TaggedFormat: BarFormat {
  /// What stands before and behind the colour in front of the line, and at its end.
  var colorTag: (before: StaticString, after: StaticString, end: StaticString) { get }
}

extension TaggedFormat {
  func begin(_ line: inout LineBuffer, _ state: BarState) {
    guard state.usesColor, !state.isHidden else { return }
    line.append(colorTag.before)
    line.append(state.color)
    line.append(colorTag.after)
  }

  func end(_ line: inout LineBuffer, _ state: BarState) {
    if state.usesColor, !state.isHidden { line.append(colorTag.end) }
    line.append("\n")
  }
}
