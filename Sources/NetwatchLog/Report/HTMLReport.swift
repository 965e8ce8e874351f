import Netwatch

/// The HTML report about the time in the log: one file that loads nothing and needs no script.
package struct HTMLReport {
  /// The most days that the page shows: the last ones. The value is 366.
  package static let mostDays = 366
  /// The most outages that the page lists: the longest ones.
  private static let mostOutages = 20
  /// The width of a day's picture, in the picture's units.
  private static let width = 1_440.0

  private let history: LogHistory
  private let days: [DaySummary]
  private let traffic: [TrafficTally.Sum]
  private let now: Int64

  /// Creates a report.
  ///
  /// - Parameters:
  ///   - history: The history to show.
  ///   - traffic: The bytes by day and link. Those of days that are not shown are left out.
  ///   - now: The time at which the page is made, in microseconds since 1970.
  package init(_ history: LogHistory, traffic: [TrafficTally.Sum], now: Int64) {
    let days = DaySummary.days(of: history, limit: Self.mostDays)
    let first = days.first.map { LocalTime($0.start).day } ?? 0
    self.history = history
    self.days = days
    self.traffic = traffic.filter { $0.day >= first }
    self.now = now
  }

  /// The page as HTML.
  package var text: String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="referrer" content="no-referrer">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
    <title>Network report</title>
    <style>
    \(ReportStyle.css)
    </style>
    </head>
    <body>
    <header>
    <h1>Network report</h1>
    <p class="soft">\(period)</p>
    </header>
    <main>
    \(days.isEmpty ? "<p>Nothing was watched in this time.</p>" : [figures, timeline, outages, uptime, networks, bytes].joined())
    </main>
    <footer><p class="soft">Written by netwatch on \(Self.dateAndTime(now)).</p></footer>
    </body>
    </html>

    """
  }

  private var period: String {
    guard let first = days.first, let last = days.last else { return "No days" }
    let (start, end) = (LocalTime(first.start).date, LocalTime(last.start).date)
    return start == end ? start : "\(start) to \(end)"
  }

  // MARK: The whole

  private var figures: String {
    let times = LogTimes(history.spans)
    var facts = [
      ("Reachable", times.availability?.asPercent ?? "unknown"),
      ("Outages", "\(history.outages.count)"), ("Not reachable", times.notReachable.asDuration),
      ("Watched", times.watched.asDuration),
    ]
    if times.suspended > 0 { facts.append(("Suspended", times.suspended.asDuration)) }
    return "<dl>\(facts.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }.joined())</dl>\n"
  }

  private var timeline: String {
    let rows = days.reversed().map { day in
      let name = LocalTime(day.start).shortDate
      let availability = day.times.availability.map { "reachable for \($0.asPercent)" } ?? "nothing known"
      return """
        <div class="day"><b>\(name)</b><svg viewBox="0 0 1440 14" preserveAspectRatio="none" role="img" \
        aria-label="\(name): \(availability)">\(picture(day))</svg></div>

        """
    }
    return """
      <section><h2>Time line</h2>
      <div class="scale" aria-hidden="true"><span>0:00</span><span>6:00</span><span>12:00</span><span>18:00</span>\
      <span>24:00</span></div>
      \(rows.joined())<p class="key"><span><i style="background:var(--up)"></i>reachable</span>\
      <span><i style="background:var(--down)"></i>not reachable</span>\
      <span><i style="background:var(--sleep)"></i>suspended</span>\
      <span><i style="background:var(--well)"></i>not watched</span></p>
      </section>

      """
  }

  /// Returns the rectangles of a day. Those of outages come last, and are wide enough to be visible.
  private func picture(_ day: DaySummary) -> String {
    let scale = Self.width / Double(day.end - day.start)
    var (ground, outages) = ("", "")
    // Adjacent spans of one kind are one rectangle.
    var open: (kind: String, start: Double, end: Double)?
    func close() {
      guard let (kind, start, end) = open else { return }
      let width = max(end - start, kind == "down" ? 2 : 0.5)
      let shape =
        "<rect class=\"\(kind)\" x=\"\(Self.number(min(start, Self.width - width)))\" width=\"\(Self.number(width))\" height=\"14\"/>"
      if kind == "down" { outages += shape } else { ground += shape }
      open = nil
    }
    for span in day.spans {
      let kind: String? =
        switch span.content {
        case .suspended: "sleep"
        case .state(let state): state.status.isReachable ? "up" : state.isOutage ? "down" : nil
        }
      guard let kind else { continue }
      let (start, end) = (Double(span.began - day.start) * scale, Double(span.end - day.start) * scale)
      if let last = open, last.kind == kind, start - last.end < 0.5 {
        open = (kind, last.start, max(end, last.end))
      } else {
        close()
        open = (kind, start, end)
      }
    }
    close()
    return ground + outages
  }

  // MARK: Tables

  private var outages: String {
    guard !history.outages.isEmpty else { return "<section><h2>Outages</h2><p>There were none.</p></section>\n" }
    let longest = history.outages.sorted { ($0.length, $1.began) > ($1.length, $0.began) }.prefix(Self.mostOutages)
    let rows = longest.map { outage in
      [
        Self.dateAndTime(outage.began) + (outage.isBeginningSeen ? "" : " or earlier"), outage.lengthWords,
        Self.escaped(outage.reason.words) + (outage.flapWords.map { ", \($0)" } ?? ""),
        Self.escaped(outage.lost?.networkName ?? "not known"),
      ]
    }
    let title =
      history.outages.count > longest.count ? "The \(longest.count) longest outages" : "Outages, the longest first"
    return table(title, ["Began", "Lasted", "Reason", "Network"], rows)
  }

  private var uptime: String {
    let rows = days.reversed().map { day in
      [
        LocalTime(day.start).shortDate, day.times.availability.map { $0.asPercent } ?? "not known", "\(day.outages)",
        day.times.notReachable > 0 ? day.times.notReachable.asDuration : "none",
        day.times.suspended > 0 ? day.times.suspended.asDuration : "none", names(day),
      ]
    }
    return table(
      "Days", ["Day", "Reachable", "Outages", "Not reachable", "Suspended", "Networks"], rows, numbers: [2])
  }

  /// Returns the networks of a day, those with the longest use first.
  private func names(_ day: DaySummary) -> String {
    let sorted = day.networks.sorted { ($0.value, $1.key) > ($1.value, $0.key) }
    let names = sorted.prefix(3).map { "\(Self.escaped($0.key)) (\($0.value.asDuration))" }
    let rest = sorted.count - names.count
    return names.isEmpty ? "none" : names.joined(separator: ", ") + (rest > 0 ? ", \(rest) more" : "")
  }

  private var networks: String {
    var times: [String: Int64] = [:]
    var losses: [String: (count: Int, length: Int64)] = [:]
    for day in days { times.merge(day.networks) { $0.addingSaturated($1) } }
    for outage in history.outages {
      guard let name = outage.lost?.networkName else { continue }
      let old = losses[name] ?? (0, 0)
      losses[name] = (old.count + 1, old.length.addingSaturated(outage.length))
    }
    let rows = times.sorted { ($0.value, $1.key) > ($1.value, $0.key) }.prefix(50).map { name, time in
      let loss = losses[name] ?? (0, 0)
      let known = time.addingSaturated(loss.length)
      return [
        Self.escaped(name), time.asDuration, "\(loss.count)",
        loss.count > 0 ? loss.length.asDuration : "none",
        known > 0 ? (Double(time) / Double(known)).asPercent : "not known",
      ]
    }
    return table("Networks", ["Network", "Used for", "Lost", "Then not reachable", "Reachable"], rows, numbers: [2])
  }

  private var bytes: String {
    guard !traffic.isEmpty else { return "" }
    let most = traffic.map { $0.received.addingSaturated($0.sent) }.max() ?? 1
    let rows = traffic.sorted { ($0.day, $1.interface) > ($1.day, $0.interface) }.map { sum in
      let width = 100 * Double(sum.received.addingSaturated(sum.sent)) / Double(max(most, 1))
      let bar =
        "<svg viewBox=\"0 0 100 14\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"bar\" width=\"\(Self.number(width))\" height=\"14\"/></svg>"
      return [
        sum.date, Self.escaped(sum.interface), sum.received.asBytes, sum.sent.asBytes, bar,
      ]
    }
    return table("Bytes", ["Day", "Link", "Received", "Sent", "Share"], rows, numbers: [2, 3])
  }

  /// Returns a table.
  ///
  /// - Parameter rows: The rows, whose cells are HTML.
  private func table(_ title: String, _ columns: [String], _ rows: [[String]], numbers: Set<Int> = []) -> String {
    func mark(_ column: Int) -> String { numbers.contains(column) ? " class=\"n\"" : "" }
    let head = columns.enumerated().map { "<th scope=\"col\"\(mark($0))>\($1)</th>" }.joined()
    let body = rows.map { row in
      let cells = zip(columns, row).enumerated().map { place, cell in
        "<td\(mark(place)) data-name=\"\(cell.0)\"><span>\(cell.1)</span></td>"
      }
      return "<tr>\(cells.joined())</tr>\n"
    }
    return """
      <section><h2>\(title)</h2>
      <table class="wide"><thead><tr>\(head)</tr></thead><tbody>
      \(body.joined())</tbody></table></section>

      """
  }

  // MARK: Pieces

  /// Returns text from outside as HTML, for text and for attributes.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar.isUnsafeInTerminal ? "?" : scalar)
      }
    }
    return result
  }

  private static func dateAndTime(_ wall: Int64) -> String { LocalTime(wall).dateAndTime }

  /// Returns a number with at most one digit after the point.
  private static func number(_ value: Double) -> String {
    let tenths = Int((min(max(value, 0), 10_000) * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}
