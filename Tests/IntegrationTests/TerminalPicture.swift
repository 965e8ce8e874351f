/// The picture that a terminal shows when programs write to it. It knows the part of a VT100 that netwatch and a shell
/// use, and only ASCII.
struct TerminalPicture {
  private(set) var rows: Int
  private(set) var columns: Int
  /// Whether the alternate screen is shown, which a full-screen program uses, and not that of the shell.
  private(set) var isAlternate = false
  private(set) var showsCursor = true
  /// The number of lines by which the screen has scrolled. Each time, its first line was lost.
  private(set) var scrolls = 0
  private var cells: [[UInt8]]
  /// The cells of the shell's screen while the alternate screen is shown.
  private var others: [[UInt8]]
  private var row = 0
  private var column = 0
  /// The position of the cursor on the shell's screen while the alternate screen is shown.
  private var former = (row: 0, column: 0)
  /// The beginning of an escape sequence whose end has not come yet.
  private var sequence: [UInt8] = []

  private static let space = UInt8(ascii: " ")

  init(rows: Int, columns: Int) {
    (self.rows, self.columns) = (rows, columns)
    cells = Self.empty(rows, columns)
    others = cells
  }

  private static func empty(_ rows: Int, _ columns: Int) -> [[UInt8]] {
    .init(repeating: .init(repeating: space, count: columns), count: rows)
  }

  /// The lines of the screen without the spaces at their ends.
  var lines: [String] {
    cells.map { line in
      let end = line.lastIndex { $0 != Self.space } ?? -1
      return String(decoding: line[0..<(end + 1)], as: UTF8.self)
    }
  }

  /// The lines of the screen, joined by newlines.
  var text: String { lines.joined(separator: "\n") }

  /// Changes the size and clears both screens. A program that draws on the terminal has to draw again.
  mutating func resize(rows: Int, columns: Int) {
    (self.rows, self.columns) = (rows, columns)
    (cells, others) = (Self.empty(rows, columns), Self.empty(rows, columns))
    (row, column) = (min(row, rows - 1), min(column, columns - 1))
  }

  mutating func show(_ bytes: some Sequence<UInt8>) { for byte in bytes { show(byte) } }

  private mutating func show(_ byte: UInt8) {
    if !sequence.isEmpty || byte == 0x1b {
      sequence.append(byte)
      // A sequence that begins with `ESC [` ends with a letter. Any other sequence has one character after ESC.
      if sequence.count == 2, byte != UInt8(ascii: "[") { sequence = [] }
      if sequence.count > 2, 0x40...0x7e ~= byte { obey() }
      return
    }
    switch byte {
    case UInt8(ascii: "\r"): column = 0
    case UInt8(ascii: "\n"): feed()
    case 0x08: column = max(min(column, columns - 1) - 1, 0)
    case 0x20...0x7e:
      // The cursor stays on the last column until another character comes.
      if column == columns {
        column = 0
        feed()
      }
      cells[row][column] = byte
      column += 1
    default: break
    }
  }

  private mutating func feed() {
    if row + 1 < rows {
      row += 1
      return
    }
    cells.removeFirst()
    cells.append(.init(repeating: Self.space, count: columns))
    scrolls += 1
  }

  private mutating func obey() {
    let command = String(decoding: sequence.dropFirst(2), as: UTF8.self)
    sequence = []
    switch command {
    case "H": (row, column) = (0, 0)
    case "K": clear(from: min(column, columns - 1), in: row)
    case "J":
      clear(from: min(column, columns - 1), in: row)
      for line in (row + 1)..<max(row + 1, rows) { clear(from: 0, in: line) }
    case "2J": cells = Self.empty(rows, columns)
    case "?1049h" where !isAlternate:
      isAlternate = true
      former = (row, column)
      others = cells
      cells = Self.empty(rows, columns)
    case "?1049l" where isAlternate:
      isAlternate = false
      cells = others
      (row, column) = (min(former.row, rows - 1), min(former.column, columns - 1))
    case "?25h", "?25l": showsCursor = command.last == "h"
    default: break
    }
  }

  private mutating func clear(from column: Int, in line: Int) {
    for place in column..<columns { cells[line][place] = Self.space }
  }
}
