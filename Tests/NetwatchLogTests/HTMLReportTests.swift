import Foundation
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchLog

/// The page loads nothing, is well-formed, and shows strangers' names only as text.
@Suite struct HTMLReportTests {
  private static let start: Int64 = 1_795_000_000_000_000

  /// Returns a page about ten hours with a network, an outage of ten minutes, and a suspend of an hour.
  private static func page(_ ssid: [UInt8], traffic: [TrafficTally.Sum] = []) -> String {
    func moment(_ minute: Int64, suspended: Int64 = 0) -> LogMoment {
      LogMoment(
        wall: start + (minute + suspended) * 60_000_000, monotonic: minute * 60_000_000,
        boot: (minute + suspended) * 60_000_000)
    }
    let up = LogState(status: .wifi, reason: "route_up", medium: .wifi, interface: "wlan0", ssid: SSID(ssid))
    let down = LogState(status: .notReachable, reason: "no_carrier")
    let entries: [(run: Int64, entry: LogEntry)] = [
      LogEntry(moment(0), .change(up, count: 1)), LogEntry(moment(100), .change(down, count: 1)),
      LogEntry(moment(110), .change(up, count: 1)), LogEntry(moment(200, suspended: 60), .suspend(3_600_000_000)),
      LogEntry(moment(540, suspended: 60), .change(up, count: 1)),
    ].map { (1, $0) }
    let history = LogHistory(entries, runs: [], now: moment(600))
    return HTMLReport(history, traffic: traffic, now: start).text
  }

  @Test func `it says how long, how often, why and where`() {
    let traffic = TrafficTally.Sum(
      day: LocalTime(Self.start).day, interface: "wlan0", received: 1_234_567, sent: 99)
    let page = Self.page(Array("Home".utf8), traffic: [traffic])
    for text in [
      "<dd>98.14 %</dd>", "<dt>Outages</dt><dd>1</dd>", "<dt>Not reachable</dt><dd>10 min 0 s</dd>",
      "<dt>Watched</dt><dd>9 h 0 min</dd>", "<dt>Suspended</dt><dd>1 h 0 min</dd>", "no carrier", "Home",
      "<h2>Time line</h2>", "<h2>Days</h2>", "<h2>Networks</h2>", "<h2>Bytes</h2>", "1.2 MB", "99 B",
      "class=\"down\"", "class=\"sleep\"", "prefers-color-scheme: dark", "@media print", "width=device-width",
    ] { #expect(page.contains(text), "\(text)") }
    #expect(!Self.page(Array("Home".utf8)).contains("Bytes"))
  }

  /// `NETWATCH_FUZZ_ROUNDS` sets the number of random names. Default: 200.
  @Test func `names of strangers are text, whatever they are`() throws {
    let evil = [
      "<script>alert(1)</script>", "\"><img src=x>", "' onload='a", "&lt;b&gt;", "]]>", "<!--", "-->",
      "</style><svg/onload=a>", "\u{202e}abc", "a\u{0}b\nc", "</td></table>", "{{7*7}}",
    ].map { Array($0.utf8.prefix(32)) }
    let plain = Self.elements(of: Self.page(Array("Home".utf8)))
    var generator = SplitMix(seed: 4)
    let marks = Array("<>&\"'/= !-;#ax\u{1}".utf8) + [0xff, 0xe2, 0x80, 0xae]
    let random = (0..<FuzzRounds.count(default: 200)).map { _ in
      (0..<Int.random(in: 1...32, using: &generator)).map { _ in marks.randomElement(using: &generator) ?? 0 }
    }
    for ssid in evil + random {
      let page = Self.page(ssid)
      let elements = Self.elements(of: page)
      #expect(elements == plain, "\(ssid)")
      #expect(!page.unicodeScalars.contains { $0.value == 0 || $0.value == 0x202e })
    }
  }

  /// Returns each tag without the values of its attributes. A stranger's name must not add a tag.
  private static func elements(of page: String) -> [String] {
    var tags: [String] = []
    var rest = page[...]
    while let open = rest.firstIndex(of: "<") {
      rest = rest[open...]
      guard let close = rest.firstIndex(of: ">") else { return tags + ["open"] }
      tags.append(String(rest[...close]))
      rest = rest[rest.index(after: close)...]
    }
    return tags
  }

  @Test func `it loads nothing and runs nothing`() {
    let page = Self.page(Array("Home".utf8)).lowercased()
    for word in [
      "<script", "javascript:", "http:", "https:", "src=", "href=", "url(", "@import", "onload", "<link", "<iframe",
    ] {
      #expect(!page.contains(word), "\(word)")
    }
    #expect(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""))
  }

  @Test func `every element is closed`() {
    let void: Set = ["meta", "!doctype", "rect"]
    var open: [String] = []
    for tag in Self.elements(of: Self.page(Array("Home".utf8))) {
      let name = String(tag.dropFirst().prefix { $0.isLetter || $0.isNumber || $0 == "/" || $0 == "!" }.lowercased())
      if name.hasPrefix("/") {
        #expect(open.popLast() == String(name.dropFirst()), "\(tag)")
      } else if !void.contains(name), !tag.hasSuffix("/>") {
        open.append(name)
      }
    }
    #expect(open == [])
  }

  @Test func `without anything the page says so`() {
    let page = HTMLReport(LogHistory([], runs: [], now: .now), traffic: [], now: 0).text
    #expect(page.contains("Nothing was watched in this time."))
    #expect(!page.contains("<table"))
  }
}
