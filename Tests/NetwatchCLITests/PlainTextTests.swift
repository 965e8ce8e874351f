import Netwatch
import Testing

@testable import NetwatchCLI

/// Names that strangers choose, and what terminals must not obey in them.
@Suite struct PlainTextTests {
  @Test(arguments: [
    "\u{1b}[31m", "\u{9b}31m", "\r", "\n", "\u{0}", "\u{7f}", "\u{85}", "\u{2028}", "\u{2029}", "\u{202e}", "\u{2066}",
    "\u{200e}", "\u{feff}", "\u{e000}", "\u{fffe}", "\u{e0041}",
  ])
  func `nothing in a name steers the terminal`(attack: String) {
    let name = "Caf\(attack)é".sanitizedForTerminal
    #expect(name.hasPrefix("Caf?"))
    #expect(name.hasSuffix("é"))
    #expect(
      name.unicodeScalars.allSatisfy {
        ![.control, .format, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
      })
  }

  @Test func `a name that does nothing stays as it is`() {
    for name in ["Café", "網路", "e\u{301}", "🇨🇭", "a b", "<b>&\"'%{x}"] { #expect(name.sanitizedForTerminal == name) }
  }
}
