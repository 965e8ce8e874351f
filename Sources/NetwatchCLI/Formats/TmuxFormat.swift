import Netwatch

/// tmux, `#(…)` in a status line.
final class TmuxFormat: TaggedFormat {
  var markup: BarMarkup { BarMarkup(opening: "#[", closing: "]", doubled: "#") }
  var colorTag: (before: StaticString, after: StaticString, end: StaticString) { ("#[fg=#", "]", "#[default]") }
  /// tmux keeps a line that comes within a second of the one before, but draws it only when something else comes.
  var repetition: Duration? { .milliseconds(1100) }

  /// `##` stands for one `#`, but `####` would too: tmux halves a run twice, unless a tag follows. An empty one is put there.
  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer) {
    let sign = UInt8(ascii: "#")
    var length = 0
    for position in range {
      guard text[position] == sign else {
        if length > 1 { line.append("#[]") }
        length = 0
        line.append(text[position])
        continue
      }
      if length == 0, line.count > 0, line[line.count - 1] == sign { line.append("#[]") }
      line.append("##")
      length += 1
    }
    if length > 1 { line.append("#[]") }
  }
}
