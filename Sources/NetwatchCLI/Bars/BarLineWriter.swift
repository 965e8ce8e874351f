import Netwatch
import NetwatchStream

/// Writes an ``EventRecord`` as a line of a bar. If names are ASCII, nothing is allocated after the buffers have grown to the
/// longest line.
struct BarLineWriter: ~Copyable {
  private static let standardTemplate = "{icon }{name}{ internet_mark}{ vpn_mark}{ activity}"

  private let format: BarFormat
  private let look: BarLook
  private let pieces: [BarTemplate.Piece]
  /// The template's literals in the form that the bar reads, one after the other. `literalRanges` has the range of each piece,
  /// which is empty for fields.
  private let literals: LineBuffer
  private let literalRanges: [Range<Int>]
  private let literalWidth: Int
  private(set) var line = LineBuffer()
  /// The values of the last line, one after the other. `ranges` has the range of each piece, which is empty for literals.
  private var values = LineBuffer(capacity: 256)
  private var ranges: [Range<Int>] = []
  private var graph = TrafficGraph()

  /// - Throws: A `PlainError` if the template is wrong for this bar.
  init(_ format: BarFormat, _ look: BarLook) throws(PlainError) {
    let template: BarTemplate
    if let given = look.template {
      template = given
    } else {
      template = try BarTemplate(Self.standardTemplate + (look.showsTraffic ? "{ traffic}" : ""))
    }
    if format.markup.hasEntities { try template.checkElements() }
    var ranges: [Range<Int>] = []
    var literals = LineBuffer()
    var width = 0
    for (position, piece) in template.pieces.enumerated() {
      var bytes = LineBuffer(capacity: 64)
      if case .literal(let text) = piece {
        let literal = try BarTemplate.read(
          text, format.markup, isBeforeField: position + 1 < template.pieces.count)
        for unit in literal.units {
          for byte in unit.character.utf8 { format.appendLiteral(byte, unit.isInTag, &bytes) }
        }
        width += literal.width
      }
      ranges.append(literals.count..<literals.count + bytes.count)
      literals.append(bytes)
    }
    self.format = format
    self.look = look
    pieces = template.pieces
    self.literals = literals
    literalRanges = ranges
    literalWidth = width
  }

  /// Writes `record` into ``line``, without text if it is hidden.
  mutating func write(_ record: EventRecord) {
    if record.event == .traffic { graph.add(record.carrierTraffic) }
    write(state(of: record, isHidden: look.hides(record)))
  }

  /// Writes the last line of a bar, which has no text, into ``line``.
  mutating func writeEnd() {
    let nothing = NetworkPath(verdict: .unknown, reason: .unresolved, interfaces: [])
    let record = EventRecord(
      sequence: 0, nanosecondsSince1970: 0, monotonicNanoseconds: 0, event: .reachability, path: nothing)
    write(state(of: record, isHidden: true))
  }

  private func state(of record: EventRecord, isHidden: Bool) -> BarState {
    BarState(
      record: record, icons: look.icons, usesColor: look.usesColor, isHidden: isHidden, units: look.units, graph: graph,
      padding: format.padding)
  }

  private mutating func write(_ state: BarState) {
    line.removeAll()
    line.append(format.separator)
    format.begin(&line, state, &values)
    if !state.isHidden {
      gatherValues(of: state)
      appendPieces()
    }
    format.end(&line, state, &values)
  }

  private mutating func gatherValues(of state: BarState) {
    values.removeAll()
    ranges.removeAll(keepingCapacity: true)
    for piece in pieces {
      let start = values.count
      if case .fields(let fields, _, _) = piece {
        for field in fields where values.count == start { values.append(field, of: state) }
      }
      ranges.append(start..<values.count)
    }
  }

  private mutating func appendPieces() {
    let limit = look.maximumWidth.map { valueLimit(of: $0) }
    for (position, piece) in pieces.enumerated() {
      switch piece {
      case .literal: line.append(literals, literalRanges[position])
      case .fields(let fields, let before, let after):
        if ranges[position].isEmpty { continue }
        appendSpaces(before)
        let isIsolated = look.icons != .ascii && format.isolates(fields, values, ranges[position])
        if isIsolated { line.append("\u{2068}") }
        append(ranges[position], limit)
        if isIsolated { line.append("\u{2069}") }
        appendSpaces(after)
      }
    }
  }

  private mutating func appendSpaces(_ count: Int) {
    for _ in 0..<count { line.append(" ") }
  }

  private mutating func append(_ range: Range<Int>, _ limit: Int?) {
    guard let limit, values.width(range) > limit else { return format.append(values, range, &line) }
    let start = values.count
    values.append(text: String(values.characters(range).prefix(limit - 1)))
    values.append(look.icons.ellipsis)
    format.append(values, start..<values.count, &line)
    values.removeLast(values.count - start)
  }

  // MARK: The width

  /// Returns the most characters of a value with which the line fits into `total`, so that long values are cut first. At least
  /// 1, for the ellipsis.
  private func valueLimit(of total: Int) -> Int {
    var room = total - literalWidth
    var longest = 0
    for case (.fields(_, let before, let after), let range) in zip(pieces, ranges) where !range.isEmpty {
      room -= before + after
      longest = max(longest, values.width(range))
    }
    var limit = longest
    while limit > 1, width(limitedTo: limit) > room { limit -= 1 }
    return max(limit, 1)
  }

  private func width(limitedTo limit: Int) -> Int {
    var sum = 0
    for range in ranges { sum += min(limit, values.width(range)) }
    return sum
  }
}

extension LineBuffer {
  /// Returns the number of characters as a reader counts them.
  fileprivate func width(_ range: Range<Int>) -> Int { isASCII(range) ? range.count : characters(range).count }

  fileprivate func characters(_ range: Range<Int>) -> String {
    String(decoding: range.map { self[$0] }, as: UTF8.self)
  }
}

/// The settings for what a bar shows.
struct BarLook {
  /// A case in which the bar shows nothing.
  enum Occasion: String, CaseIterable {
    case reachable
    case notReachable = "not-reachable"
    case wifi, wired, wwan, bluetooth, virtual, other
    /// The activity indicator is not visible.
    case idle

    func isMet(by record: EventRecord) -> Bool {
      switch self {
      // A fault that a probe has found always stays visible.
      case .reachable: record.path.isReachable && record.internet?.isFault != true
      case .notReachable: record.path.status == .notReachable
      case .wifi, .wired, .wwan, .bluetooth, .virtual, .other: record.path.medium?.rawValue == rawValue
      case .idle: !record.activity.state.isVisible
      }
    }
  }

  /// The template; nil for the standard one.
  var template: BarTemplate?
  var icons = IconSet.unicode
  /// The most characters (graphemes) of the text; nil for no limit.
  var maximumWidth: Int?
  var hidden: [Occasion] = []
  var usesColor = true
  var units = TrafficUnits.bits
  /// Whether the standard template also shows the traffic. Default: false.
  var showsTraffic = false

  func hides(_ record: EventRecord) -> Bool { hidden.contains { $0.isMet(by: record) } }
}
