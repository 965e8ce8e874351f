import Netwatch
import Testing

@testable import NetwatchCLI
@testable import NetwatchStream

/// The text of rates, and what bars show about traffic.
@Suite struct RateTextTests {
  private static func text(_ value: UInt64?) -> String {
    var buffer = LineBuffer()
    buffer.append(rate: value, padding: " ")
    return buffer.text
  }

  @Test(arguments: [
    (0, "  0 "), (7, "  7 "), (42, " 42 "), (999, "999 "), (1_000, "1.0k"), (1_049, "1.0k"), (1_050, "1.1k"),
    (9_949, "9.9k"), (9_950, " 10k"), (99_499, " 99k"), (99_500, "100k"), (999_499, "999k"), (999_500, "1.0M"),
    (12_000_000, " 12M"), (1_000_000_000, "1.0G"), (100_000_000_000, "100G"), (UInt64.max, " 18E"),
  ])
  func `a rate has four characters`(_ value: UInt64, _ expected: String) { #expect(Self.text(value) == expected) }

  @Test func `every number is as wide as every other one, and near what it tells`() throws {
    let factors: [Character: Double] = [" ": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18]
    for _ in 0..<20_000 {
      let value = UInt64.random(in: 0...UInt64.max) >> UInt64.random(in: 0..<64)
      let text = Self.text(value)
      #expect(text.count == 4)
      let number = try #require(Double(text.dropLast().drop { $0 == " " }))
      let told = try number * #require(text.last.flatMap { factors[$0] })
      #expect(abs(told - Double(value)) <= max(Double(value) * 0.051, 0.5))
    }
    #expect(Self.text(nil).count == 4)
  }

  private static func record(_ received: UInt64?, _ sent: UInt64?, bytes: UInt64 = 5_000_000) -> EventRecord {
    var record = BarLines.record()
    record.event = .traffic
    var traffic = LinkTraffic(kernelName: InterfaceName("wlan0"), interfaceIndex: 2, receivedBytes: bytes, sentBytes: 1)
    (traffic.receivedBitsPerSecond, traffic.sentBitsPerSecond) = (received, sent)
    record.traffic = [traffic]
    return record
  }

  @Test func `a template shows rates, bytes, and nothing where no link carries anything`() throws {
    let look = try BarLines.look("{down} {up} {down_bytes} {up_bytes}|")
    #expect(try BarLines.line(.plain, Self.record(1_500_000, 12), look) == "1.5M  12  5.0M   1 |")
    #expect(try BarLines.line(.plain, Self.record(nil, nil), look) == "  -    -  5.0M   1 |")
    var bytes = look
    bytes.units = .bytes
    #expect(try BarLines.line(.plain, Self.record(8_000, 16), bytes) == "1.0k   2  5.0M   1 |")
    var offline = BarLines.offline()
    offline.traffic = []
    #expect(try BarLines.line(.plain, offline, look) == "   |")
  }

  @Test func `without a template, --traffic puts the rates behind the rest`() throws {
    var look = BarLook(showsTraffic: true)
    #expect(try BarLines.line(.plain, Self.record(1_200_000, 99_000), look) == "● Café ↓1.2M ↑ 99k")
    look.icons = .ascii
    #expect(try BarLines.line(.plain, Self.record(nil, 5), look) == "* Café v  -  ^  5 ")
    #expect(try BarLines.line(.plain, BarLines.offline(), look) == "- not reachable")
    look.showsTraffic = false
    #expect(try BarLines.line(.plain, Self.record(1, 1), look) == "* Café")
  }

  @Test(arguments: Bar.all, ["{down}b/s {up}b/s {graph}", ""])
  func `no bar's line changes its width with the rate`(_ bar: Bar, _ template: String) throws {
    var look = BarLook(template: template == "" ? nil : try BarTemplate(template))
    look.showsTraffic = true
    var widths: Set<Int> = []
    for power in 0..<12 {
      for digit in [1, 3, 9] as [UInt64] {
        let rate = (0..<power).reduce(digit) { value, _ in value * 10 }
        let line = try BarLines.line(bar.format, Self.record(rate, rate / 3), look)
        // Each mark of the graph is one character, whatever its level is.
        widths.insert(line.count)
        if bar.format.padding.utf8CodeUnitCount > 1 { #expect(!line.contains("  ")) }
      }
    }
    #expect(widths.count == 1)
  }

  @Test func `the graph shows the last eight samples`() throws {
    var writer = try BarLineWriter(.plain, BarLines.look("{graph}"))
    func line() -> String { String(writer.line.text.dropLast()) }
    writer.write(Self.record(nil, nil))
    #expect(line() == "▁▁▁▁▁▁▁▁")
    for rate in [0, 1_000, 50_000, 100_000] as [UInt64] { writer.write(Self.record(rate, 0)) }
    #expect(line() == "▁▁▁▁▁▂▅█")
    // A record that is not a sample does not move the graph.
    var other = Self.record(1, 1)
    other.event = .activity
    writer.write(other)
    #expect(line() == "▁▁▁▁▁▂▅█")
    writer.write(Self.record(1_000_000, 0))
    #expect(line() == "▁▁▁▁▂▂▂█")
    for _ in 0..<8 { writer.write(Self.record(.max, .max)) }
    #expect(line() == "████████")
  }

  @Test func `a template with figures of a link asks for them`() throws {
    #expect(try BarTemplate("{icon }{ssid|down}").showsTraffic)
    #expect(try !BarTemplate("{icon }{name}").showsTraffic)
  }

  @Test func `a line of JSON has the figures where somebody asked, and reads them again`() throws {
    var writer = JSONLineWriter()
    writer.write(BarLines.record())
    #expect(!String(decoding: writer.line, as: UTF8.self).contains("traffic"))
    writer.write(Self.record(1_500_000, nil))
    let text = String(decoding: writer.line, as: UTF8.self)
    #expect(
      text.hasSuffix(
        #","traffic":{"interface":"wlan0","rx_bps":1500000,"tx_bps":null,"rx_bytes":5000000,"tx_bytes":1}}"# + "\n"))
    let record = try #require(EventRecord(line: writer.line[...]))
    #expect(record.event == .traffic)
    #expect(record.traffic == Self.record(1_500_000, nil).traffic)
    var none = BarLines.offline()
    none.traffic = []
    writer.write(none)
    #expect(String(decoding: writer.line, as: UTF8.self).hasSuffix(#","traffic":null}"# + "\n"))
    #expect(EventRecord(line: writer.line[...])?.traffic == [])
  }
}
