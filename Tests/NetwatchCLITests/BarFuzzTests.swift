import Netwatch
import NetwatchStream
import NetwatchTestSupport
import Testing

@testable import NetwatchCLI

/// Whatever the name of a network or a link is: the bar shows the name and obeys no part of it.
@Suite struct BarFuzzTests {
  /// Names that have run commands or changed colours in one bar or another.
  static let attacks = [
    "%{A1:touch pwned:}x%{A}", "%%{A1:touch pwned:}x%%{A}", "%%%{F#f00}", "x%", "%{", "{A:x:}", "%", "{",
    "${exec touch pwned}", "$$${exec id}", "$nodename", "\\${exec id}", "a#b", "\\#", "\\", "#", "##", "###[x",
    "#[fg=red]",
    "##[fg=red]", "#(touch pwned)", "#{host}", "#H", "#S##", "####", "#}", "#,", "[fg=red]", "(x)",
    "<action=`touch pwned`>x</action>", "<fc=#ff0000>x</fc>", "<raw=1:x/>", "/>", "<b>", "</b>", "&", "&amp;", "&#92;",
    "\"", "'", "\\\"", "\"}", "\",\"class\":\"x", "\\u0022", "<span foreground='red'>", "\u{5}{r}", "\u{1b}[31m",
    "a\nb", "a\rb",
    "\u{202e}abc", "\u{2066}x", "\u{9b}31m", "x\u{2028}y", "\u{0}", " ", "  x  ", "", "e\u{301}", "👩‍👩‍👧", "网络", "\u{fffe}",
    "日本語🛜",
  ]

  /// Returns a random name: any bytes, or bytes that have a meaning in some bar.
  private static func name(_ random: inout SplitMix, upTo length: Int) -> [UInt8] {
    let minded = Array("%%%{{}}##[]$$<>&&\"'\\\\/:;()=AF01a \u{e9}\u{202e}".utf8)
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      return (0..<Int.random(in: 0...length, using: &random)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    case 1:
      let attack = Array(attacks[Int.random(in: 0..<attacks.count, using: &random)].utf8)
      return Array((attack + name(&random, upTo: length)).prefix(length))
    default:
      return (0..<Int.random(in: 0...length, using: &random)).map { _ in
        minded[Int.random(in: 0..<minded.count, using: &random)]
      }
    }
  }

  private struct Case: Sendable, CustomStringConvertible {
    let format: String
    /// Writes records for the bar, and returns what the bar shows.
    let show: @Sendable (EventRecord, BarLook) throws -> BarReading
    /// The tags that a line may have beside its text.
    let tags: Set<String>

    var description: String { format }
  }

  private static let cases = [
    Case(
      format: "waybar",
      show: { record, look in
        let object = try BarGrammar.object(BarLines.line(.waybar, record, look))
        let tooltip = try BarGrammar.pango(BarGrammar.string("tooltip", object))
        let names = record.path.verdict
        let name = BarLines.visible(names.ssid?.bytes ?? [])
        guard tooltip.tags.isEmpty, name.isEmpty || tooltip.text.unicodeScalars.contains(name.unicodeScalars),
          Set(object.keys).isSubset(of: ["text", "alt", "tooltip", "class", "percentage"]),
          object["class"] as? [String] == ["wifi", "online"], object["percentage"] as? Int == 72
        else { throw BarGrammar.Fault("\(object)") }
        return try BarGrammar.pango(BarGrammar.string("text", object))
      }, tags: []),
    Case(
      format: "i3bar",
      show: { record, look in
        let block = try BarGrammar.block(BarLines.line(.i3bar, record, look), isFirst: false)
        guard Set(block.keys) == ["name", "instance", "full_text", "short_text", "color", "markup"],
          block["markup"] as? String == "none",
          block["instance"] as? String == record.path.interfaceName.map({ BarLines.visible(Array($0.utf8)) })
        else { throw BarGrammar.Fault("\(block)") }
        return BarReading(text: try BarGrammar.string("full_text", block))
      }, tags: []),
    Case(
      format: "i3blocks",
      show: { record, look in
        let line = try BarLines.line(.i3blocks, record, look)
        let block = try BarGrammar.i3blocks(line)
        // i3blocks 1.5 reads the line as JSON.
        guard Set(block.keys) == ["full_text", "short_text", "color", "markup"],
          try BarGrammar.object(line) as? [String: String] == block
        else { throw BarGrammar.Fault("\(block)") }
        return try BarGrammar.pango(block["full_text"] ?? "")
      }, tags: []),
    Case(
      format: "i3status-rust",
      show: { record, look in
        let object = try BarGrammar.object(BarLines.line(.i3statusRust, record, look))
        guard Set(object.keys) == ["icon", "state", "text", "short_text"] else { throw BarGrammar.Fault("\(object)") }
        return try BarGrammar.pango(BarGrammar.string("text", object))
      }, tags: []),
    Case(
      format: "polybar", show: { try BarGrammar.polybar(BarLines.line(.polybar, $0, $1)) },
      tags: ["F#56b4e9", "O0", "F-"]),
    Case(
      format: "lemonbar", show: { try BarGrammar.lemonbar(BarLines.line(.lemonbar, $0, $1)) },
      tags: ["F#56b4e9", "F-"]),
    Case(
      format: "xmobar", show: { try BarGrammar.xmobar(BarLines.line(.xmobar, $0, $1)) },
      tags: ["fc=#56b4e9", "/fc"]),
    Case(
      format: "tmux", show: { try BarGrammar.tmux(BarLines.line(.tmux, $0, $1)) },
      tags: ["fg=#56b4e9", "", "default"]),
    Case(
      format: "conky", show: { try BarGrammar.conky(BarLines.line(.conky, $0, $1)) },
      tags: ["color 56b4e9", "color"]),
    Case(format: "plain", show: { BarGrammar.plain(try BarLines.line(.plain, $0, $1)) }, tags: []),
  ]

  /// Templates whose values follow each other or follow what might begin a tag, each with the text around the values.
  private static let templates = [
    ("{ssid}{interface}", ["", "", ""]), ("{ssid} {interface}", ["", " ", ""]),
    ("x{ssid}y{interface}z", ["x", "y", "z"]), ("{ssid}[{interface}]", ["", "[", "]"]),
  ]

  private struct Round: Sendable {
    let ssid: [UInt8]
    let interface: [UInt8]
    let record: EventRecord
    let expected: [UInt8]
  }

  /// The names and records of each round, which are the same for every bar.
  private static let rounds: [Round] = {
    var random = SplitMix(seed: 6)
    return (0..<FuzzRounds.count(default: 5_000) + attacks.count).map { round in
      let isAttack = round < attacks.count
      let ssid = isAttack ? Array(attacks[round].utf8) : name(&random, upTo: 32)
      let interface = isAttack ? ssid : name(&random, upTo: 15)
      let record = BarLines.record(ssid: ssid, interface: interface)
      let around = templates[round % templates.count].1
      let known = record.path.verdict
      let expected =
        around[0] + BarLines.visible(known.ssid?.bytes ?? []) + around[1]
        + BarLines.visible(Array((known.interfaceName?.text ?? "").utf8)) + around[2]
      return Round(ssid: ssid, interface: interface, record: record, expected: Array(expected.utf8))
    }
  }()

  /// Returns the text without the characters that isolate names. Throws if an isolate is not closed before the next one
  /// begins.
  private static func withoutIsolates(_ text: String) throws -> String {
    var isOpen = false
    var rest = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\u{2068}" where !isOpen, "\u{2069}" where isOpen: isOpen.toggle()
      case "\u{2068}", "\u{2069}": throw BarGrammar.Fault("an isolate that is not one of a pair: \(text)")
      default: rest.append(scalar)
      }
    }
    if isOpen { throw BarGrammar.Fault("an open isolate: \(text)") }
    return String(rest)
  }

  @Test(arguments: cases)
  private func `any name comes back as text, and opens nothing`(_ bar: Case) throws {
    let looks = try Self.templates.map { try BarLines.look($0.0) }
    for (number, round) in Self.rounds.enumerated() {
      do {
        let reading = try bar.show(round.record, looks[number % looks.count])
        if try Array(Self.withoutIsolates(reading.text).utf8) == round.expected, bar.tags.isSuperset(of: reading.tags) {
          continue
        }
        let expected = String(decoding: round.expected, as: UTF8.self)
        Issue.record("round \(number): \(round.ssid) \(round.interface): \(reading) instead of \(expected)")
      } catch {
        Issue.record("round \(number): \(round.ssid) \(round.interface): \(error)")
      }
      return
    }
  }

  /// A tag in a template is the user's own. A name must not become part of it.
  @Test func `a template's own sign does not open a tag for a name`() throws {
    let brace = BarLines.record(ssid: Array("{A1:touch pwned:}x".utf8))
    let polybar = try BarGrammar.polybar(BarLines.line(.polybar, brace, BarLines.look("%{ssid}")))
    #expect(polybar.text == "%{A1:touch pwned:}x")
    #expect(polybar.tags == ["F#56b4e9", "O0", "F-"])
    let sign = BarLines.record(ssid: Array("x%".utf8))
    let behind = try BarGrammar.polybar(BarLines.line(.polybar, sign, BarLines.look("{ssid}{{A1:x:}}")))
    #expect(behind.text == "x%{A1:x:}")
    let lemonbar = try BarGrammar.lemonbar(BarLines.line(.lemonbar, brace, BarLines.look("%{ssid}")))
    #expect(lemonbar == BarReading(text: "%{A1:touch pwned:}x", tags: ["F#56b4e9", "F-"]))
    let style = BarLines.record(ssid: Array("[fg=red]x".utf8))
    let tmux = try BarGrammar.tmux(BarLines.line(.tmux, style, BarLines.look("#{ssid}")))
    #expect(tmux == BarReading(text: "#[fg=red]x", tags: ["fg=#56b4e9", "default"]))
    let conky = try BarGrammar.conky(BarLines.line(.conky, brace, BarLines.look("${ssid}")))
    #expect(conky.text == "${A1:touch pwned:}x")
    #expect(conky.tags == ["color 56b4e9", "color"])
  }
}
