import Netwatch
import Testing

@Suite struct InterfaceNameTests {
  @Test(arguments: [
    ("eth0", "eth0"), ("", ""), ("fifteen-letters", "fifteen-letters"), ("sixteen-letters-", "sixteen-letters"),
    ("a\0b", "a"), ("wlé😀", "wlé😀"),
  ])
  func `a name is what the kernel can hold of it`(_ given: String, _ kept: String) {
    let name = InterfaceName(given)
    #expect(name.text == kept)
    #expect(name.count == kept.utf8.count)
    #expect((0..<name.count).map { name[$0] } == Array(kept.utf8))
    let bytes = Array(given.utf8)
    #expect(unsafe InterfaceName(bytes.span.bytes) == name)
  }

  @Test func `bytes that are not UTF-8 tell names apart, and are shown as replaced`() {
    let names = [[0x61, 0xff], [0x61, 0xfe]].map { (bytes: [UInt8]) in unsafe InterfaceName(bytes.span.bytes) }
    #expect(names[0] != names[1])
    #expect(names.map(\.text) == ["a\u{fffd}", "a\u{fffd}"])
  }
}
