import Netwatch
import NetwatchStream
import Testing

@testable import NetwatchCLI

/// The lines that bars receive.
@Suite struct BarLineTests {
  private let nasty = BarLines.record(ssid: Array(##"Café <b>&"\%{x}#"##.utf8))

  @Test func `each bar's line of a name with everything in it`() throws {
    #expect(try BarLines.line(.plain, nasty) == ##"● Café <b>&"\%{x}#"##)
    #expect(try BarLines.line(.polybar, nasty) == ##"%{F#56b4e9}● Café <b>&"\%%{O0}{x}#%{F-}"##)
    #expect(try BarLines.line(.lemonbar, nasty) == ##"%{F#56b4e9}● Café <b>&"\%%{x}#%{F-}"##)
    #expect(try BarLines.line(.xmobar, nasty) == ##"<fc=#56b4e9><raw=1:●/> <raw=16:Café <b>&"\%{x}#/></fc>"##)
    #expect(try BarLines.line(.tmux, nasty) == ##"#[fg=#56b4e9]● Café <b>&"\%{x}###[default]"##)
    #expect(try BarLines.line(.conky, nasty) == ##"${color 56b4e9}● Café <b>&"\%{x}\#${color}"##)
    #expect(
      try BarLines.line(.i3bar, nasty)
        == ##",[{"name":"netwatch","instance":"wlan0","full_text":"● \##u{2068}Café <b>&\"\\%{x}#\##u{2069}","short_text":"wifi","##
        + ##""color":"#56b4e9","markup":"none"}]"##)
    #expect(
      try BarLines.line(.i3blocks, nasty)
        == ##"{"full_text":"● \##u{2068}Café &lt;b&gt;&amp;&quot;&#92;%{x}#\##u{2069}","short_text":"wifi","color":"#56b4e9","markup":"pango"}"##
    )
    #expect(
      try BarLines.line(.i3statusRust, nasty)
        == ##"{"icon":"","state":"Good","text":"● \##u{2068}Café &lt;b&gt;&amp;&quot;\\%{x}#\##u{2069}","short_text":"wifi"}"##
    )
    #expect(
      try BarLines.line(.waybar, nasty)
        == ##"{"text":"● \##u{2068}Café &lt;b&gt;&amp;&quot;\\%{x}#\##u{2069}","alt":"wifi","tooltip":"wifi wlan0: \##u{2068}Café "##
        + ##"&lt;b&gt;&amp;&quot;\\%{x}#\##u{2069}, 72%\n192.168.1.23 via 192.168.1.1","class":["wifi","online"],"percentage":72}"##
    )
  }

  @Test func `shape and word tell apart what colour does`() throws {
    let states = [
      BarLines.record(), BarLines.record(ssid: nil, medium: .wired),
      BarLines.record(ssid: nil, interface: Array("wwan0".utf8), medium: .wwan, isExpensive: true),
      BarLines.record(vpn: "wg0"), BarLines.record(activity: .active, inFlight: 1), BarLines.offline(),
      BarLines.record(internet: .portal), BarLines.record(internet: .absent),
    ]
    for icons in IconSet.allCases {
      let look = try BarLines.look(icons: icons, color: false)
      let lines = try states.map { try BarLines.line(.plain, $0, look) }
      #expect(Set(lines).count == lines.count, "\(lines)")
    }
    #expect(
      try states.map { try BarLines.line(.plain, $0) }
        == [
          "● Café", "● wlan0", "● wwan0", "● Café VPN", "● Café ⇅", "○ not reachable", "◐ Café login",
          "◌ Café no internet",
        ])
    let ascii = try BarLines.look(icons: .ascii)
    #expect(
      try states.dropFirst(3).map { try BarLines.line(.plain, $0, ascii) }
        == ["* Café VPN", "* Café %", "- not reachable", "! Café login", "x Café no internet"])
    let words = try BarLines.look(icons: .none)
    #expect(
      try states.dropFirst(3).map { try BarLines.line(.plain, $0, words) }
        == ["Café VPN", "Café busy", "not reachable", "Café login", "Café no internet"])
    let colors = try states.map { try BarGrammar.polybar(BarLines.line(.polybar, $0)).tags[0] }
    #expect(colors == ["F#56b4e9", "F#56b4e9", "F#e69f00", "F#56b4e9", "F#56b4e9", "F#d55e00", "F#cc79a7", "F#cc79a7"])
  }

  /// Pango orders a line by the direction of its characters. Without isolates, a network's name that is written from
  /// right to left would move the signal and the address to its other side.
  @Test func `a name from right to left turns only itself`() throws {
    let record = BarLines.record(ssid: Array("שלום\u{2069}\u{202e}".utf8))
    let look = try BarLines.look("{ssid} {signal_dbm} {ip}")
    for format in [BarFormat.waybar, .i3bar, .i3blocks, .i3statusRust] {
      #expect(try BarLines.line(format, record, look).contains("\u{2068}שלום\u{2069} "))
      #expect(try BarLines.line(format, BarLines.record(ssid: Array("Home".utf8)), look).contains("\"Home "))
      let ascii = try BarLines.look("{ssid}", icons: .ascii)
      #expect(try !BarLines.line(format, record, ascii).contains("\u{2068}שלום\u{2069}\""))
    }
    // The other bars show characters in the order in which they come, and would show the isolates as boxes.
    for format in [BarFormat.polybar, .lemonbar, .xmobar, .conky, .plain] {
      let line = try BarLines.line(format, record, look)
      #expect(line.contains("שלום") && !line.contains("\u{2068}"))
    }
    let short = try BarLines.line(.waybar, record, BarLines.look("{ssid}", width: 3))
    #expect(short.contains("\u{2068}של…\u{2069}"), "\(short)")
  }

  @Test func `the unit of rates is a field`() throws {
    for (units, name) in [(TrafficUnits.bits, "b/s"), (.bytes, "B/s")] {
      var look = try BarLines.look("{down}{unit}")
      look.units = units
      #expect(try BarLines.line(.plain, BarLines.record(), look).hasSuffix(name))
    }
    #expect(try BarTemplate("{unit}").showsTraffic)
  }

  @Test func `a signal is as wide as it can become`() throws {
    let lines = try [-99, -96, -95, -51, -50].map {
      try BarLines.line(.plain, BarLines.record(signal: $0), BarLines.look("{signal}|"))
    }
    #expect(lines == ["  2%|", "  8%|", " 10%|", " 98%|", "100%|"])
  }

  @Test func `times and losses are as wide as they can become`() throws {
    var record = BarLines.record()
    record.tellsQuality = true
    func line(_ time: Int?, _ loss: Int?) throws -> String {
      record.quality = record.path.carrier.map {
        LinkQuality(
          kernelName: $0.name, interfaceIndex: $0.index, connections: 9, tenthsOfMilliseconds: time,
          tenthsOfPercent: loss)
      }
      return try BarLines.line(.plain, record, BarLines.look("{rtt}|{loss}"))
    }
    let lines = try [(0, 0), (99, 99), (100, 100), (996, 996), (2_304, 1_000), (12_340, 4)].map(line)
    #expect(
      lines == [
        " 0.0ms|0.0%", " 9.9ms|9.9%", "  10ms| 10%", " 100ms|100%", " 230ms|100%", "1234ms|0.4%",
      ])
    // A value that is not known has the same width.
    let others = try [line(.max - 5, nil), line(nil, nil)]
    #expect(others == ["9999ms|  -%", "   -ms|  -%"])
    var offline = BarLines.offline()
    offline.tellsQuality = true
    #expect(try BarLines.line(.plain, offline, BarLines.look("{rtt}|{loss}")) == "|")
  }

  @Test func `waybar's classes and tooltip`() throws {
    let record = BarLines.record(
      ssid: nil, interface: Array("usb0".utf8), medium: .wired, signal: nil, vpn: "wg0", activity: .delayingEnd,
      ipv6: "2001:db8::1", isExpensive: true)
    let object = try BarGrammar.object(BarLines.line(.waybar, record))
    #expect(object["class"] as? [String] == ["wired", "online", "expensive", "vpn", "busy"])
    #expect(
      object["tooltip"] as? String
        == "wired usb0\n192.168.1.23 via 192.168.1.1\n2001:db8::1 via fe80::1\nVPN wg0, wireguard")
    #expect(object["percentage"] == nil)
    let offline = try BarGrammar.object(BarLines.line(.waybar, BarLines.offline()))
    #expect(offline["class"] as? [String] == ["offline"])
    #expect(offline["tooltip"] as? String == "not reachable: no carrier")
  }

  @Test func `what a probe has found is to be seen on each bar, and a full internet is nothing new`() throws {
    for internet in [InternetAccess.full, .unknown] {
      for format in [
        .plain, .polybar, .lemonbar, .xmobar, .tmux, .conky, .i3bar,
        .i3blocks, .i3statusRust,
      ] as [BarFormat] {
        #expect(
          try BarLines.line(format, BarLines.record(internet: internet)) == BarLines.line(format, BarLines.record()))
      }
    }
    let portal = BarLines.record(vpn: "wg0", isExpensive: true, internet: .portal)
    let none = BarLines.record(internet: .absent)
    #expect(try BarLines.line(.polybar, portal) == "%{F#cc79a7}◐ Café login VPN%{F-}")
    #expect(
      try BarLines.line(.i3bar, none)
        == ##",[{"name":"netwatch","instance":"wlan0","full_text":"◌ \##u{2068}Café\##u{2069} no internet","short_text":"no-internet","##
        + ##""color":"#cc79a7","markup":"none"}]"##)
    #expect(
      try BarLines.line(.i3blocks, portal)
        == ##"{"full_text":"◐ \##u{2068}Café\##u{2069} login VPN","short_text":"portal","color":"#cc79a7","markup":"pango"}"##
    )
    #expect(
      try BarLines.line(.i3statusRust, none)
        == ##"{"icon":"","state":"Warning","text":"◌ \##u{2068}Café\##u{2069} no internet","short_text":"no-internet"}"##
    )
    for (record, word, words) in [
      (portal, "portal", "behind a login page (captive portal)"), (none, "no-internet", "no internet"),
    ] {
      let object = try BarGrammar.object(BarLines.line(.waybar, record))
      #expect(object["alt"] as? String == word)
      // The classes that style sheets already use stay the same.
      let classes = object["class"] as? [String] ?? []
      #expect(classes.starts(with: ["wifi", "online", word]), "\(classes)")
      #expect((object["tooltip"] as? String)?.hasSuffix("\n" + words) == true)
    }
    let full = try BarGrammar.object(BarLines.line(.waybar, BarLines.record(internet: .full)))
    #expect((full["tooltip"] as? String)?.hasSuffix("\ninternet: full") == true)
    #expect(full["class"] as? [String] == ["wifi", "online"])
  }

  @Test func `the fields internet and internet_mark show the probe's result`() throws {
    for (internet, shown) in [
      (InternetAccess.full, "full|"), (.portal, "portal|login"), (.absent, "none|no internet"), (.unknown, "unknown|"),
    ] {
      let look = try BarLines.look("{internet}|{internet_mark}")
      #expect(try BarLines.line(.plain, BarLines.record(internet: internet), look) == shown)
    }
    #expect(try BarLines.line(.plain, BarLines.record(), BarLines.look("{internet}{internet_mark}x")) == "x")
  }

  @Test func `a fault of the internet is not hidden with what is reachable`() throws {
    let look = try BarLines.look(hidden: [.reachable])
    #expect(try BarLines.line(.plain, BarLines.record(internet: .full), look) == "")
    #expect(try BarLines.line(.plain, BarLines.record(internet: .portal), look) == "◐ Café login")
    #expect(try BarLines.line(.plain, BarLines.record(internet: .absent), look) == "◌ Café no internet")
  }

  @Test func `without colour there is none`() throws {
    let look = try BarLines.look(color: false)
    for line in [
      try BarLines.line(.polybar, nasty, look), try BarLines.line(.lemonbar, nasty, look),
      try BarLines.line(.xmobar, nasty, look), try BarLines.line(.tmux, nasty, look),
      try BarLines.line(.conky, nasty, look), try BarLines.line(.i3bar, nasty, look),
      try BarLines.line(.i3blocks, nasty, look),
    ] {
      #expect(!line.contains("56b4e9"), "\(line)")
    }
  }

  @Test func `hidden is empty, in every format`() throws {
    let look = try BarLines.look(hidden: [.wifi])
    let record = BarLines.record()
    #expect(try BarLines.line(.plain, record, look) == "")
    #expect(try BarLines.line(.polybar, record, look) == "")
    #expect(try BarLines.line(.lemonbar, record, look) == "")
    #expect(try BarLines.line(.xmobar, record, look) == "")
    #expect(try BarLines.line(.tmux, record, look) == "")
    #expect(try BarLines.line(.conky, record, look) == "")
    #expect(try BarGrammar.object(BarLines.line(.waybar, record, look))["text"] as? String == "")
    #expect(
      try BarGrammar.block(BarLines.line(.i3bar, record, look), isFirst: false)["full_text"] as? String == "")
    #expect(try BarGrammar.i3blocks(BarLines.line(.i3blocks, record, look))["full_text"] == "")
    #expect(try BarGrammar.object(BarLines.line(.i3statusRust, record, look))["text"] as? String == "")
    #expect(try BarLines.line(.plain, BarLines.offline(), look) != "")
  }

  @Test(arguments: [
    (BarLook.Occasion.reachable, [true, true, false]), (.notReachable, [false, false, true]),
    (.wifi, [true, false, false]), (.wired, [false, true, false]), (.idle, [false, true, true]),
  ])
  func `each occasion of --hide-when hides the right lines`(occasion: BarLook.Occasion, hidden: [Bool]) throws {
    let records = [
      BarLines.record(activity: .active), BarLines.record(ssid: nil, medium: .wired), BarLines.offline(),
    ]
    let look = try BarLines.look(hidden: [occasion])
    #expect(try records.map { try BarLines.line(.plain, $0, look).isEmpty } == hidden)
  }
}
