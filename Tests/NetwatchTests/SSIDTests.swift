import Netwatch
import Testing

@Suite struct SSIDTests {
  @Test(arguments: [
    ([], "", ""), (Array("café".utf8), "café", "636166c3a9"), ([0x61, 0, 0x62], "a\0b", "610062"),
    ([0x61, 0xff, 0xc3], "a\u{fffd}\u{fffd}", "61ffc3"), ([0x0a, 0x1b], "\n\u{1b}", "0a1b"),
    ([UInt8](repeating: 0xff, count: 32), String(repeating: "\u{fffd}", count: 32), String(repeating: "ff", count: 32)),
  ])
  func `a name is its bytes, whatever they are`(_ bytes: [UInt8], _ text: String, _ hex: String) throws {
    let ssid = try #require(SSID(bytes))
    #expect(ssid.bytes == bytes)
    #expect(ssid.count == bytes.count)
    #expect((0..<ssid.count).map { ssid[$0] } == bytes)
    #expect((ssid.text, ssid.description, ssid.hex) == (text, text, hex))
    #expect(unsafe SSID(bytes.span.bytes) == ssid)
    #expect(SSID(AnyCollection(bytes)) == ssid)
  }

  @Test(arguments: [33, 34, 255, 256, 288, 1000])
  func `what is longer than 32 bytes is no name`(_ count: Int) {
    let bytes = [UInt8](repeating: 0x61, count: count)
    #expect(SSID(bytes) == nil)
    #expect(unsafe SSID(bytes.span.bytes) == nil)
  }

  @Test func `zeros at the end tell names apart`() throws {
    let names = try [[], [0], [0, 0], [0x61], [0x61, 0], [UInt8](repeating: 0, count: 32)].map {
      try #require(SSID($0))
    }
    #expect(Set(names).count == names.count)
  }

  @Test func `a network hides its name by none, or by zeros`() throws {
    for count in 0...32 { #expect(try #require(SSID([UInt8](repeating: 0, count: count))).isHidden) }
    for bytes: [UInt8] in [[0x20], [0, 1], [UInt8](repeating: 0, count: 31) + [1]] {
      #expect(try !#require(SSID(bytes)).isHidden)
    }
  }

  @Test func `an SSID and a wireless link need no memory on the heap`() {
    #expect(_isPOD(SSID.self))
    #expect(_isPOD(WirelessLink.self))
  }
}
