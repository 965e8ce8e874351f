import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// The log in the formats for programs: JSON lines, each one an object, or CSV (RFC 4180, with line feeds) with a line of
/// column names first.
package final class LogRecords {
  /// The cached texts of states. A year has some hundred different states, each of them many times.
  private var objects: [LogState: String] = [:]
  private var cells: [LogState: String] = [:]

  /// Creates a converter with an empty cache.
  package init() {}

  // MARK: JSON

  /// Returns an entry as one JSON object, without a newline.
  package func json(_ entry: LogEntry) -> String {
    let moment = entry.moment
    let clocks = #""mono_us":\#(moment.monotonic),"boot_us":\#(moment.boot)"#
    let start = #"{"v":1,"time":"\#(time(moment.wall))",\#(clocks),"event":"#
    return switch entry.content {
    case .suspend(let length): start + #""suspend","seconds":\#(seconds(length))}"#
    case .change(let state, let count, let losses):
      start + #""change",\#(object(state)),"changes":\#(count),"carrier_losses":\#(losses)\#(json(note: entry.note))}"#
    }
  }

  /// Returns an outage as one JSON object, without a newline.
  package func json(_ outage: Outage) -> String {
    let began = outage.isBeginningSeen ? "seen" : "unseen"
    return #"{"v":1,"time":"\#(time(outage.began))","event":"outage","seconds":\#(seconds(outage.length)),"#
      + #""reason":\#(outage.reason.json),"began":"\#(began)","ended":"\#(outage.ending.rawValue)","#
      + #""carrier_losses":\#(outage.carrierLosses)\#(json(note: outage.note)),"#
      + #""lost":\#(outage.lost.map { "{\(json($0))}" } ?? "null")}"#
  }

  /// Returns the bytes of a period as one JSON object, without a newline.
  package func json(_ traffic: PeriodTraffic) -> String {
    #"{"v":1,"event":"traffic","\#(traffic.isMonth ? "month" : "day")":"\#(traffic.name)","#
      + #""interface":\#(traffic.interface.json),"received_bytes":\#(traffic.received),"sent_bytes":\#(traffic.sent)}"#
  }

  private func object(_ state: LogState) -> String {
    if let known = objects[state] { return known }
    let text = #""status":"\#(state.status.rawValue)","reason":\#(state.reason.json),\#(json(state))"#
    objects[state] = text
    return text
  }

  /// Returns the members about the link that carried the path.
  private func json(_ state: LogState) -> String {
    let isCarried = state.medium != nil
    return #""medium":\#(state.medium?.rawValue.json ?? "null"),"interface":\#(json(orNull: state.interface)),"#
      + #""ssid":\#(state.ssid?.text.json ?? "null"),"ssid_hex":\#(state.ssid?.hex.json ?? "null"),"#
      + #""expensive":\#(isCarried ? "\(state.isExpensive)" : "null"),"vpn":\#(json(orNull: state.vpn))"#
  }

  private func json(note: String?) -> String { note.map { #","note":\#($0.json)"# } ?? "" }

  private func json(orNull text: String) -> String { text.isEmpty ? "null" : text.json }

  // MARK: CSV

  /// The line with the column names of entries in CSV.
  package static let entryColumns =
    "time,event,status,medium,interface,ssid,ssid_hex,expensive,vpn,reason,changes,seconds,mono_us,boot_us,carrier_losses,note"
  /// The line with the column names of outages in CSV.
  package static let outageColumns =
    "time,seconds,reason,began,ended,medium,interface,ssid,ssid_hex,expensive,vpn,carrier_losses,note"

  /// Returns the line with the column names of the bytes of periods in CSV.
  package static func trafficColumns(byMonth isByMonth: Bool) -> String {
    "\(isByMonth ? "month" : "day"),interface,received_bytes,sent_bytes"
  }

  /// Returns an entry as one line of CSV, without a newline.
  package func csv(_ entry: LogEntry) -> String {
    let clocks = "\(entry.moment.monotonic),\(entry.moment.boot)"
    let start = time(entry.moment.wall)
    return switch entry.content {
    case .suspend(let length): "\(start),suspend,,,,,,,,,,\(seconds(length)),\(clocks),,"
    case .change(let state, let count, let losses):
      "\(start),change,\(cells(state)),\(count),,\(clocks),\(losses)," + row([entry.note ?? ""])
    }
  }

  private func cells(_ state: LogState) -> String {
    if let known = cells[state] { return known }
    let text = row([state.status.rawValue] + network(state) + [state.reason])
    cells[state] = text
    return text
  }

  /// Returns an outage as one line of CSV, without a newline.
  package func csv(_ outage: Outage) -> String {
    row(
      [
        time(outage.began), seconds(outage.length), outage.reason, outage.isBeginningSeen ? "seen" : "unseen",
        outage.ending.rawValue,
      ] + (outage.lost.map(network) ?? Array(repeating: "", count: 6)) + ["\(outage.carrierLosses)", outage.note ?? ""])
  }

  /// Returns the bytes of a period as one line of CSV, without a newline.
  package func csv(_ traffic: PeriodTraffic) -> String {
    row([traffic.name, traffic.interface, "\(traffic.received)", "\(traffic.sent)"])
  }

  private func network(_ state: LogState) -> [String] {
    [
      state.medium?.rawValue ?? "", state.interface, state.ssid?.text ?? "", state.ssid?.hex ?? "",
      state.medium == nil ? "" : "\(state.isExpensive)", state.vpn,
    ]
  }

  /// The characters with which a cell is a formula. Spreadsheets also take the wide forms that East Asian keyboards write.
  private static let formulaMarks = Set<Unicode.Scalar>("=+-@\u{ff1d}\u{ff0b}\u{ff0d}\u{ff20}".unicodeScalars)

  /// Returns a line of CSV. CSV has no escapes, so characters that could control a terminal become question marks. Spreadsheets
  /// calculate cells that begin like a formula, and outsiders choose names of networks. So such cells get an apostrophe, which
  /// makes them text.
  private func row(_ cells: [String]) -> String {
    cells.map { cell in
      let cell = cell.sanitizedForTerminal
      let isFormula = cell.unicodeScalars.first { $0 != " " }.map(Self.formulaMarks.contains) ?? false
      let text = isFormula ? "'" + cell : cell
      let needsQuotes = text.utf8.contains { $0 == 0x2c || $0 == 0x22 }
      // By bytes: a quote and a combining mark behind it are one character.
      let quoted = text.utf8.flatMap { $0 == 0x22 ? [$0, $0] : [$0] }
      return needsQuotes ? "\"\(String(decoding: quoted, as: UTF8.self))\"" : text
    }.joined(separator: ",")
  }

  // MARK: Pieces

  /// Returns a number of seconds with six digits after the point.
  private func seconds(_ microseconds: Int64) -> String {
    let (whole, part) = max(microseconds, 0).quotientAndRemainder(dividingBy: 1_000_000)
    let digits = "\(part)"
    return "\(whole).\(String(repeating: "0", count: 6 - digits.count))\(digits)"
  }

  /// Returns a time in the format of the stream.
  private func time(_ wall: Int64) -> String {
    var text = LineBuffer(capacity: 64)
    text.appendTime(nanosecondsSince1970: min(max(wall, 0), LogMoment.latest) * 1_000)
    return String(text.text.dropFirst().dropLast())
  }
}
