import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchResolver

@Suite struct InternationalNameTests {
  @Test(arguments: [
    ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.Example", "xn--bcher-kva.example"),
    // The diaeresis is a character of its own, which combines with the letter before it.
    ("bu\u{308}cher.example.", "xn--bcher-kva.example."),
    // The conversion is non-transitional, so the result is not "strasse".
    ("straße.example", "xn--strae-oqa.example"), ("例え.テスト", "xn--r8jz45g.xn--zckzah"),
    ("ｅｘａｍｐｌｅ.org", "example.org"), ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
    ("_sip.bücher.example", "_sip.xn--bcher-kva.example"),
    // A name that is already ASCII is not changed.
    ("r3---a.example", "r3---a.example"), ("xn--0.example", "xn--0.example"),
  ])
  func `a name is turned into what servers know`(_ text: String, _ ascii: String) throws {
    #expect(try HostName(text).inASCII().name == ascii)
  }

  @Test(arguments: [
    "\u{301}a.example", "a\u{fffd}.example", "\u{200d}a.example", "x\u{e000}.example", "aא.example",
    "ü-.example", "１２７。０。０。１", "ｌｏｃａｌｈｏｓｔ", "a．．b", "300。1。1。1", "\u{ad}", "ü。。example",
    String(repeating: "ü", count: 60) + ".example", (0..<60).map { _ in "üüü" }.joined(separator: "."),
    "a\u{ff0f}b.example", "a\u{ff20}b.example",
  ])
  func `a name that cannot be one is refused with one sentence`(_ text: String) {
    let error = #expect(throws: (any Error).self) { try HostName(text).inASCII() }
    let sentence = error.map { "\($0)" } ?? ""
    #expect(sentence.hasSuffix(".") && sentence.contains(";"), "\(sentence)")
  }

  @Test func `random letters are refused, or become a name`() {
    var random = SplitMix(seed: 4)
    var names = 0
    for _ in 0..<FuzzRounds.count(default: 20_000) {
      let scalars = (0..<Int.random(in: 1...80, using: &random)).compactMap { _ in
        random.oneIn(6)
          ? Unicode.Scalar(UInt32(UInt8(ascii: ".")))
          : Unicode.Scalar(UInt32.random(in: 0x61...(random.oneIn(3) ? 0x1_ffff : 0x24f), using: &random))
      }
      guard let name = try? HostName(String(String.UnicodeScalarView(scalars))) else { continue }
      guard let ascii = try? name.inASCII() else { continue }
      names += 1
      #expect(ascii.name.utf8.allSatisfy { $0 < 0x80 })
      #expect(throws: Never.self) { try HostName(ascii.name) }
    }
    #expect(names > 10)
  }
}
