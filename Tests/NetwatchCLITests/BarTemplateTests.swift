import Netwatch
import NetwatchStream
import Testing

@testable import NetwatchCLI

/// The options `--template` and `--max-width`.
@Suite struct BarTemplateTests {
  private func shown(_ template: String, _ record: EventRecord = BarLines.record(), width: Int? = nil) throws -> String
  {
    try BarLines.line(.plain, record, BarLines.look(template, width: width))
  }

  @Test func `fields, choices, spaces and braces`() throws {
    #expect(try shown("{ssid} on {interface}: {ip}, {gateway}") == "Café on wlan0: 192.168.1.23, 192.168.1.1")
    #expect(try shown("{ssid|interface}", BarLines.record(ssid: nil)) == "wlan0")
    #expect(try shown("{ssid|vpn|interface}", BarLines.record(ssid: [], vpn: "wg0")) == "wg0")
    #expect(try shown("{medium}{ vpn }{ signal}") == "wifi  72%")
    #expect(try shown("{medium}{ vpn }|", BarLines.record(vpn: "wg0")) == "wifi wg0 |")
    #expect(try shown("{{{status}}}") == "{wifi}")
    #expect(
      try shown("{signal} {signal_dbm} {ipv4}{ipv6}{vpn_kind}{in_flight}{activity}{reason}")
        == " 72% -64 192.168.1.23initial")
    #expect(try shown("") == "")
    #expect(try shown("{icon}{name}", BarLines.offline()) == "○not reachable")
  }

  @Test func `every field can be named`() throws {
    for field in BarField.allCases { _ = try shown("{\(field.rawValue)}") }
  }

  @Test(arguments: [
    ("{sid}", "{ssid}"), ("{nonsense}", "there are icon, name"), ("{ssid", "lacks its '}'"), ("{}", "no field"),
    ("{ssid|}", "no field"), ("{ssid,ip}", "no field"), ("a\nb", "one line"), ("\u{1b}[1m", "control"),
  ])
  func `a template that cannot be read`(template: String, hint: String) {
    let error = #expect(throws: PlainError.self) { try BarTemplate(template) }
    #expect(error?.description.contains(hint) == true, "\(error?.description ?? "")")
  }

  @Test func `markup in a template is kept, and a field inside a tag is refused`() throws {
    let bold = try BarLines.look("<b>{ssid}</b> &amp; \"{ip}\"")
    #expect(
      try BarLines.line(.waybar, BarLines.record(), bold).hasPrefix(
        #"{"text":"<b>\#u{2068}Café\#u{2069}</b> &amp; \"192."#))
    let quoted = try BarLines.look("<span color=\"red\">\"{ssid}\"</span>")
    #expect(
      try BarLines.line(.i3blocks, BarLines.record(), quoted)
        .hasPrefix(#"{"full_text":"<span color='red'>&quot;\#u{2068}Café\#u{2069}&quot;</span>","#))
    #expect(throws: PlainError.self) { try BarLines.line(.waybar, nothing, look("<a href='{ssid}'>")) }
    #expect(throws: PlainError.self) { try BarLines.line(.waybar, nothing, look("this & that")) }
    #expect(throws: PlainError.self) { try BarLines.line(.polybar, nothing, look("%{{F{ssid}}}")) }
    #expect(throws: PlainError.self) { try BarLines.line(.tmux, nothing, look("#[fg={ssid}]")) }
    #expect(throws: PlainError.self) { try BarLines.line(.conky, nothing, look("${{exec {ssid}}}")) }
    #expect(throws: PlainError.self) { try BarLines.line(.xmobar, nothing, look("<action={ssid}>")) }
  }

  @Test(arguments: [
    ("<b>{ssid}", "'<b>' in the template lacks its '</b>'"), ("{ssid}</b>", "'</b>' in the template does not close"),
    ("<b><i>{ssid}</b></i>", "'</b>' in the template does not close"), ("<span size='small'>{ip}</b>", "'</b>'"),
  ])
  func `markup that would leave an old text on the bar`(template: String, hint: String) throws {
    for format in [.waybar, .i3blocks, .i3statusRust] as [BarFormat] {
      let error = #expect(throws: PlainError.self) { try BarLines.line(format, nothing, look(template)) }
      #expect(error?.description.contains(hint) == true, "\(error?.description ?? "")")
    }
    _ = try BarLines.line(.waybar, nothing, look("<span size='small'><b>{name}</b></span> <i/>{ip}"))
    _ = try BarLines.line(.polybar, nothing, look(template))
  }

  private let nothing = BarLines.offline()
  private func look(_ template: String) throws -> BarLook { try BarLines.look(template) }

  @Test func `long values are cut by grapheme, all alike`() throws {
    let long = BarLines.record(ssid: Array("abcdefghijklmnopqrstuvwxyz".utf8), interface: Array("wlp0s20f3".utf8))
    #expect(try shown("{icon} {ssid}", long, width: 10) == "● abcdefg…")
    #expect(try shown("{icon} {ssid}", long, width: 28) == "● abcdefghijklmnopqrstuvwxyz")
    #expect(try shown("{ssid} {interface}", long, width: 17) == "abcdefg… wlp0s20…")
    #expect(try shown("{ssid} {interface}", long, width: 22) == "abcdefghijk… wlp0s20f3")
    #expect(try shown("{ssid}", long, width: 1) == "…")
    let family = BarLines.record(ssid: Array("👩‍👩‍👧e\u{301}xy".utf8))
    #expect(try shown("{ssid}", family, width: 3) == "👩‍👩‍👧e\u{301}…")
    #expect(try shown("{ssid}", family, width: 4) == "👩‍👩‍👧e\u{301}xy")
  }

  @Test func `markup takes no room`() throws {
    let record = BarLines.record(ssid: Array("abcdefghij".utf8))
    let look = try BarLines.look("<b>&lt;</b>{ssid}", width: 6)
    let object = try BarGrammar.object(BarLines.line(.waybar, record, look))
    #expect(object["text"] as? String == "<b>&lt;</b>abcd…")
    let polybar = try BarLines.look("%{{B#222}}{ssid}%{{B-}}", width: 6, color: false)
    #expect(try BarLines.line(.polybar, record, polybar) == "%{B#222}abcde…%{B-}")
  }

  @Test func `the activity mark outlives a long name`() throws {
    let record = BarLines.record(
      ssid: Array(repeating: UInt8(ascii: "x"), count: 32), vpn: "wg0", activity: .active, inFlight: 2)
    let line = try BarLines.line(.plain, record, BarLines.look(width: 16))
    #expect(line == "● xxxxxxx… VPN ⇅")
    #expect(line.count == 16)
  }
}
