import Netwatch

/// A table for people with what programs receive and send.
///
/// ```
/// PROGRAM      UID  RX b/s  TX b/s   RX B   TX B  CONN
/// firefox     1000    1.2M     12k   5.0M   1.2M     3
/// short-lived           0       0     90k    12k
/// other                 -       -    8.1k   2.0k
/// ```
struct ProgramTable {
  /// The order of the programs in the table.
  enum Order: String, CaseIterable {
    /// The programs with the highest sum of both rates come first.
    case all
    case received, sent, connections, name

    /// The key that selects the order: the first letter of its name.
    var key: Character { rawValue.first ?? " " }

    fileprivate func precedes(_ one: ProgramFigures.Program, _ other: ProgramFigures.Program) -> Bool {
      func value(_ program: ProgramFigures.Program) -> (UInt64, UInt64) {
        let traffic = program.traffic
        let (down, up) = (traffic.receivedBitsPerSecond ?? 0, traffic.sentBitsPerSecond ?? 0)
        return switch self {
        case .all: (down.addingSaturated(up), traffic.received.addingSaturated(traffic.sent))
        case .received: (down, traffic.received)
        case .sent: (up, traffic.sent)
        case .connections: (UInt64(clamping: program.inFlight), 0)
        case .name: (0, 0)
        }
      }
      let (first, second) = (value(one), value(other))
      if first != second { return first > second }
      func key(_ program: ProgramFigures.Program) -> (String, UInt32, Int32) {
        (program.name ?? program.unit ?? "\u{10ffff}", program.user, program.process ?? .max)
      }
      return key(one) < key(other)
    }
  }

  /// A column of figures to the right of the names.
  private struct Column {
    let title: String
    let width: Int
    let cells: [String]

    /// Creates a column with two spaces before its widest cell.
    init(_ title: String, _ cells: [String]) {
      self.title = title
      self.cells = cells
      width = 2 + ([title] + cells).reduce(0) { max($0, $1.columns) }
    }
  }

  /// The least width of the names. If there is less room, a column of figures is left out.
  private static let leastNameWidth = 12

  private let units: TrafficUnits
  private let grouping: ProgramFigures.Grouping
  private let width: Int
  private let usesColor: Bool
  private let ellipsis: Character

  /// - Parameters:
  ///   - units: The unit of rates. Default: bits per second.
  ///   - grouping: What a row stands for. Default: a program.
  ///   - width: The width of the terminal in columns; nil if a line may have any length.
  init(
    _ units: TrafficUnits = .bits, by grouping: ProgramFigures.Grouping = .name, width: Int?, usesColor: Bool,
    isUnicode: Bool
  ) {
    self.units = units
    self.grouping = grouping
    self.width = width ?? .max
    self.usesColor = usesColor
    ellipsis = isUnicode ? "…" : "~"
  }

  /// Returns the lines of the table, without their newlines.
  ///
  /// - Parameter height: The most lines. Default: nil, no limit.
  func lines(_ figures: ProgramFigures, by order: Order, height: Int? = nil) -> [String] {
    let sums = [("short-lived", figures.shortLived)] + (figures.other.map { [("other (estimate)", $0)] } ?? [])
    let notes =
      figures.overruns > 0
      ? ["The bytes are too low: the kernel could not report some closed connections (\(figures.overruns) times)."] : []
    let room = max((height ?? .max) - 1 - sums.count - notes.count, 0)
    let programs = figures.programs.sorted(by: order.precedes).prefix(room)
    let title = grouping == .unit ? "UNIT" : "PROGRAM"
    let names = programs.map { ($0.name ?? $0.unit)?.sanitizedForTerminal ?? "(unknown)" } + sums.map(\.0)
    let traffic = programs.map(\.traffic) + sums.map(\.1)
    let noCells = sums.map { _ in "" }
    let processes = Column("PID", programs.map { $0.process.map { "\($0)" } ?? "-" } + noCells)
    let columns = fitting(
      (grouping == .pid ? [processes] : []) + [
        Column("RX \(units.name)", traffic.map { Self.number($0.receivedBitsPerSecond.map(units.rate)) }),
        Column("TX \(units.name)", traffic.map { Self.number($0.sentBitsPerSecond.map(units.rate)) }),
        Column("RX B", traffic.map { Self.number($0.received) }),
        Column("TX B", traffic.map { Self.number($0.sent) }),
        Column("CONN", programs.map { "\($0.inFlight)" } + noCells),
        Column("UID", programs.map { "\($0.user)" } + noCells),
      ])
    let taken = columns.reduce(0) { $0 + $1.width }
    let nameWidth = min(([title] + names).reduce(0) { max($0, $1.columns) }, width - taken)
    func line(_ name: String, _ cells: [String]) -> String {
      let name = name.fitted(to: nameWidth, ellipsis: ellipsis)
      return zip(columns, cells).reduce(name.padded(to: nameWidth)) { line, cell in
        line + String(repeating: " ", count: max(cell.0.width - cell.1.columns, 0)) + cell.1
      }
    }
    var lines = [paint(line(title, columns.map(\.title)), .bold)]
    for (row, name) in names.enumerated() {
      let text = line(name, columns.map { $0.cells[row] })
      lines.append(row < programs.count ? text : paint(text, .dim))
    }
    lines += notes.map { paint($0.fitted(to: width, ellipsis: ellipsis), .yellow) }
    return Array(lines.prefix(max(height ?? .max, 1)))
  }

  /// Returns the line below the table, which says what the keys do.
  func keys(_ order: Order) -> String {
    let keys = Order.allCases.map { "\($0.key) \($0.rawValue)\($0 == order ? "*" : "")" }.joined(separator: "  ")
    return paint("q quit  sort: \(keys)".fitted(to: width, ellipsis: ellipsis), .dim)
  }

  private func paint(_ text: String, _ color: TextColor) -> String { usesColor ? color.paint(text) : text }

  /// Returns the first columns, as many as there is room for.
  private func fitting(_ columns: [Column]) -> [Column] {
    var room = width - Self.leastNameWidth
    return Array(
      columns.prefix { column in
        room -= column.width
        return room >= 0
      })
  }

  /// Returns a number in four places.
  private static func number(_ value: UInt64?) -> String {
    var buffer = LineBuffer(capacity: 16)
    buffer.append(rate: value, padding: " ")
    return buffer.text
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(width - columns, 0)) }
}
