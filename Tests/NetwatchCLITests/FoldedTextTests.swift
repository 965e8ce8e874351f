import NetwatchTestSupport
import Testing

@testable import NetwatchCLI

/// Lines for terminals of any width.
@Suite struct FoldedTextTests {
  private func fold(_ width: Int?, indent: Int = 4, _ phrases: (String, Int)...) -> String {
    var text = FoldedText(width: width, usesColor: false, indent: indent)
    for (phrase, column) in phrases { text.append(phrase, at: column) }
    return text.lines
  }

  @Test func `phrases stand in their columns`() {
    #expect(fold(nil, ("a", 0), ("", 5), ("b", 10)) == "a         b\n")
    #expect(fold(20, ("網路", 0), ("b", 10)) == "網路      b\n")
    #expect(fold(20, ("longer than this", 0), ("b", 10)) == "longer than this b\n")
  }

  @Test func `what has no room goes beneath, whole`() {
    #expect(fold(12, ("first", 0), ("second phr", 8)) == "first\n    second\n    phr\n")
    #expect(fold(14, ("first", 0), ("second phr", 8)) == "first\n    second phr\n")
    #expect(fold(10, ("first", 0), ("x", 0), ("second", 0)) == "first x\n    second\n")
  }

  @Test func `a word longer than a line is cut`() {
    #expect(fold(8, ("abcdefghij", 0)) == "    abcd\n    efgh\n    ij\n")
    #expect(fold(8, ("網路網路網", 0)) == "    網路\n    網路\n    網\n")
  }

  @Test func `each piece has its colour, and ends it`() {
    var text = FoldedText(width: 8, usesColor: true, indent: 0)
    text.append("a word too long", .red)
    let shown = text.lines
    #expect(shown == "\u{1b}[31ma\u{1b}[0m \u{1b}[31mword\u{1b}[0m\n\u{1b}[31mtoo\u{1b}[0m \u{1b}[31mlong\u{1b}[0m\n")
  }

  @Test func `nothing is lost, and no line is too long`() {
    var random = SplitMix(seed: 6)
    let pieces = ["a", "bc", " ", "  ", "網", "e\u{301}", "🇨🇭", "👩🏽", "…", "한", "wxyzwxyz", "ก็"]
    for _ in 0..<FuzzRounds.count(default: 2_000) {
      let width = Int.random(in: 1...40, using: &random)
      var text = FoldedText(width: width, usesColor: false, indent: Int.random(in: 0...50, using: &random))
      var given = ""
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let phrase = (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? ""
        }
        .joined()
        given += phrase
        text.append(phrase, at: Int.random(in: 0...40, using: &random))
      }
      let shown = text.lines
      #expect(shown.filter { !$0.isWhitespace } == given.filter { !$0.isWhitespace }, "\(width)")
      for line in shown.split(separator: "\n") {
        // On a terminal of one column, a character that takes two columns stays whole.
        #expect(line.columns <= width || line.drop { $0 == " " }.count == 1, "\(width): \(line)")
      }
    }
  }
}
