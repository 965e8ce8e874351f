import Netwatch
import NetwatchStream
import NetwatchTestSupport
import Testing

@testable import NetwatchCLI

/// One rule for strangers' text: in no output and in no field does it control a terminal, change the direction of text,
/// or end a line.
///
/// `StrangeNameTests` check the same for each command in a network, and `LogOutputTests` for the log and the report.
@Suite struct StrangeTextTests {
  private static let attacks = [
    "\u{1b}[2J", "\u{1b}]0;t\u{7}", "\u{9b}31m", "\u{85}", "\r\nb", "\t", "\u{8}", "\u{7f}", "\u{202e}a",
    "\u{2066}\u{2069}",
    "\u{2028}", "\u{2029}", "\u{feff}", "\u{e000}", "\u{e0041}", "\u{fffe}",
  ]

  /// Returns a record in which each field that a stranger can choose has the text.
  private static func record(_ attack: String) -> EventRecord {
    var record = BarLines.record(
      ssid: Array("S\(attack)".utf8.prefix(32)), interface: Array("i\(attack)".utf8.prefix(15)), vpn: "v\(attack)",
      activity: .active, inFlight: 2, ipv6: "2001:db8::1")
    record.internet = .portal
    record.portalURL = PortalURL("http://login.example/\(attack)") ?? PortalURL("http://login.example/$(x)")
    let name = record.path.carrier?.name ?? InterfaceName("x")
    record.traffic = [LinkTraffic(kernelName: name, interfaceIndex: 2, receivedBytes: 7, sentBytes: 7)]
    return record
  }

  /// Returns everything that is written about a record, by format.
  private static func outputs(_ attack: String) throws -> [(format: String, text: String)] {
    let record = record(attack)
    var outputs: [(String, String)] = []
    for (locale, isSnapshot) in [("C.UTF-8", true), ("C.UTF-8", false), ("C", true)] {
      let renderer = TextRenderer(
        terminal: Terminal(descriptor: -1, color: .never, locale: locale), saysWhy: true,
        snapshot: isSnapshot ? .init(target: .internet, listsAll: true, showsQuality: true) : nil)
      let names = LineNames(
        programs: { [NamedCount(name: "p\(attack)", count: 1)] },
        requests: { [NamedCount(name: "l\(attack)", count: 1)] })
      for event in [EventRecord.Event.initial, .reachability, .activity, .interfaces, .wifi, .traffic, .stages] {
        var record = record
        record.event = event
        record.listsInterfaces = true
        outputs.append(("text \(event)", renderer.text(record, names)))
      }
    }
    var writer = JSONLineWriter()
    writer.write(record)
    outputs.append(("json", String(decoding: writer.line, as: UTF8.self)))
    for bar in Bar.all {
      for template in [nil, "{interface}{ssid}{vpn}{name}{internet}{portal_url}"] {
        outputs.append((bar.name, try BarLines.line(bar.format, record, BarLines.look(template))))
      }
    }
    for entry in HookVariables(record).entries(after: HookVariables(record)) { outputs.append(("hook", entry)) }
    var figures = ProgramFigures()
    figures.programs = [ProgramFigures.Program(name: "p\(attack)", user: 1)]
    let table = ProgramTable(width: 80, usesColor: false, isUnicode: true)
    outputs.append(("top", table.lines(figures, by: .all).joined(separator: "\n")))
    var line = LineBuffer()
    line.append(figures, by: .unit, nanosecondsSince1970: 0)
    outputs.append(("top json", line.text))
    return outputs
  }

  @Test(arguments: attacks) func `no field steers any output`(attack: String) throws {
    for (format, text) in try Self.outputs(attack) {
      #expect(text.steering == [], "\(format): \(text.debugDescription)")
      // A stranger's newline would begin a new line.
      #expect(!text.contains("\nb"), "\(format): \(text.debugDescription)")
    }
  }

  @Test func `a phrase in a column is harmless, whoever has written it`() {
    var line = FoldedText(width: 20, usesColor: true, indent: 2)
    line.append("a\u{1b}[2Jb", .red)
    line.append("\u{202e}c \u{9b}d eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee\u{7f}", at: 4)
    let text = line.lines.replacing("\u{1b}[31m", with: "").replacing("\u{1b}[0m", with: "")
    #expect(text.steering == [], "\(text.debugDescription)")
  }
}
