import Foundation
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchLog

/// Everything that `netwatch log` and `netwatch report` print about a log, in all formats.
struct LogOutputs {
  /// Names that a stranger may choose. They contain controls of C0 and C1, DEL, controls of the text's direction, line
  /// separators, invisible characters, markup, formulas, and bytes that are not UTF-8.
  static let names = [
    "\u{1b}[2J\u{1b}]0;title\u{7}", "\u{9b}31m\u{85}", "\u{7f}\u{8}\r\n\t\0", "\u{202e}evil\u{2066}\u{2069}",
    "\u{2028}\u{2029}\u{feff}",
    "\u{e000}\u{e0041}", "<script>&\"'", "=1+1,\"x\"", "+1", "-1", "@SUM(A1)", " =1", "\u{ff1d}1", "\t=1",
    "a\"\u{301},",
  ]

  private let contents: LogContents

  init(_ contents: LogContents) { self.contents = contents }

  /// The lines by the options that print them. The page counts as one line.
  private var lines: [String: [String]] {
    let history = contents.history.since(0)
    let (entries, outages) = (contents.entries(since: .min), history.outages)
    let records = LogRecords()
    var lines: [String: [String]] = [:]
    for isUnicode in [true, false] {
      let text = LogText(isUnicode: isUnicode)
      lines["text \(isUnicode)"] = entries.map(text.line) + outages.map(text.line) + [text.summary(history)]
    }
    lines["--json"] = entries.map(records.json)
    lines["--outages --json"] = outages.map(records.json)
    lines["--csv"] = [LogRecords.entryColumns] + entries.map(records.csv)
    lines["--outages --csv"] = [LogRecords.outageColumns] + outages.map(records.csv)
    for isByMonth in [false, true] {
      let sums = PeriodTraffic.sums(of: contents.traffic, byMonth: isByMonth)
      let text = LogText(isUnicode: true)
      lines["--traffic \(isByMonth)"] = sums.map(text.line) + [text.summary(sums)]
      lines["--traffic \(isByMonth) --json"] = sums.map(records.json)
      lines["--traffic \(isByMonth) --csv"] = [LogRecords.trafficColumns(byMonth: isByMonth)] + sums.map(records.csv)
    }
    let page = HTMLReport(contents.history, traffic: contents.traffic, now: LogMoment.latest).text
    lines["report"] = page.split(separator: "\n").map(String.init)
    return lines
  }

  /// Checks that each line is one line of harmless text in the form of its format.
  func check() throws {
    for (format, lines) in lines {
      let columns = format.hasSuffix("csv") ? Self.cells(lines[0]).count : 0
      for line in lines {
        // Most lines are only printable ASCII, which is quick to check.
        let isPlain = line.utf8.allSatisfy { $0 >= 0x20 && $0 <= 0x7e }
        guard isPlain || !line.unicodeScalars.contains(where: { $0.isUnsafeInTerminal }) else {
          Issue.record("\(format): \(line.debugDescription)")
          return
        }
        if format.hasSuffix("json") { _ = try JSONSerialization.jsonObject(with: Data(line.utf8)) }
        if format.hasSuffix("csv") {
          let cells = Self.cells(line)
          if cells.count != columns { Issue.record("\(cells.count) cells: \(line)") }
          for cell in cells where Self.isFormula(cell) { Issue.record("a formula: \(line)") }
        }
      }
    }
  }

  static func isFormula(_ cell: String) -> Bool {
    // A number is not a formula.
    guard Int64(cell) == nil else { return false }
    let first = cell.unicodeScalars.first { $0 != " " }
    return first.map { "=+-@\u{ff1d}\u{ff0b}\u{ff0d}\u{ff20}".unicodeScalars.contains($0) } ?? false
  }

  /// Reads a line of CSV as RFC 4180 describes it.
  static func cells(_ line: String) -> [String] {
    var cells = [[UInt8]()]
    var isQuoted = false
    var bytes = Array(line.utf8)[...]
    while let byte = bytes.popFirst() {
      switch byte {
      case UInt8(ascii: "\"") where isQuoted && bytes.first == UInt8(ascii: "\""):
        bytes.removeFirst()
        cells[cells.count - 1].append(byte)
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: ",") where !isQuoted: cells.append([])
      default: cells[cells.count - 1].append(byte)
      }
    }
    return cells.map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Strangers' names in the log.
@Suite struct LogOutputTests {
  @Test(arguments: LogOutputs.names) func `a stranger's name steers nothing, in any format`(_ name: String) throws {
    let folder = try TemporaryFolder()
    let place = LogPlace(folder: folder.file("netwatch"))
    let moments = (1...3).map { LogMoment(wall: $0 * 1_000_000_000, monotonic: $0 * 1_000_000, boot: $0 * 1_000_000) }
    let state = LogState(
      status: .wifi, reason: name, medium: .wifi, interface: name, ssid: SSID(Array(name.utf8.prefix(32))), vpn: name)
    let lost = LogState(status: .notReachable, reason: name)
    let entries = zip(moments, [state, lost, state]).map { LogEntry($0, .change($1, count: 1)) }
    let sum = TrafficTally.Sum(day: 20_261_124, interface: name, received: 1, sent: 2)
    try LogStore.open(place).store.append(entries, traffic: [sum])
    let contents = try LogContents(reading: place)
    #expect(contents.history.outages.count == 1)
    try LogOutputs(contents).check()
  }

  @Test func `a cell that begins like a formula is text`() {
    let moment = LogMoment(wall: 0, monotonic: 0, boot: 0)
    func cell(_ name: String) -> String {
      let state = LogState(status: .wifi, reason: "route_up", medium: .wifi, interface: name)
      return LogOutputs.cells(LogRecords().csv(LogEntry(moment, .change(state, count: 1))))[4]
    }
    #expect(
      ["=1", "+1", "-1", "@a", " =1", "\u{ff1d}1"].map(cell) == ["'=1", "'+1", "'-1", "'@a", "' =1", "'\u{ff1d}1"])
    #expect(["a=1", "1-1", "\u{1b}=1", "é"].map(cell) == ["a=1", "1-1", "?=1", "é"])
  }
}
