import Glibc
import Netwatch
import Testing

@Suite struct GlobTests {
  @Test(arguments: [
    ("wl*", "wlan0", true), ("wl*", "eth0", false), ("*", "", true), ("?", "", false), ("", "", true), ("", "a", false),
    ("Caf?", "Café", true), ("[äö]*", "öx", true), ("[äö]*", "ax", false), ("[a-c]?", "bé", true), ("\\*", "*", true),
    ("\\*", "a", false), ("[", "[", true), ("[a", "[a", true), ("a\\", "a\\", true), ("*a*b", "xaxxab", true),
    ("*a*b", "xaxxabc", false), ("é", "e\u{301}", false), ("docker*", "docker0\n", true),
  ])
  func `names match as people expect`(_ pattern: String, _ name: String, _ isMatch: Bool) {
    #expect(Glob(pattern: pattern.utf8).matches(name.utf8) == isMatch)
  }

  @Test func `a name is its bytes, whatever they mean in a pattern`() {
    for name: [UInt8] in [Array("[Guest]*?\\".utf8), [0, 0xff, 0xc3], Array("é".utf8), []] {
      #expect(Glob(name: name).matches(name))
      #expect(!Glob(name: name).matches(name + [0]))
    }
    #expect(!Glob(name: "Train*".utf8).matches("Train 1".utf8))
    // A zero byte within a name does not end the name.
    #expect(!Glob(pattern: "Train".utf8).matches(Array("Train".utf8) + [0, 0x78]))
    #expect(Glob(pattern: "Train?x".utf8).matches(Array("Train".utf8) + [0, 0x78]))
    // Half of a character counts as one character, and so does a byte that no character contains.
    #expect(Glob(pattern: "a??".utf8).matches([0x61, 0xc3, 0xff]))
    #expect(!Glob(pattern: "a?".utf8).matches([0x61, 0xc3, 0xff]))
  }

  @Test func `the C library finds the same matches`() {
    var random = SystemRandomNumberGenerator()
    let (inPatterns, inNames) = (Array("ab-*?[]!^\\".utf8), Array("ab-]*\\".utf8))
    var matches = 0
    for _ in 0..<50_000 {
      let pattern = (0..<Int.random(in: 0...7, using: &random)).map { _ in inPatterns.randomElement(using: &random) ?? 0
      }
      let name = (0..<Int.random(in: 0...5, using: &random)).map { _ in inNames.randomElement(using: &random) ?? 0 }
      // POSIX does not define what a backslash at the end of a pattern means.
      if pattern.last == UInt8(ascii: "\\") { continue }
      let text = (String(decoding: pattern, as: UTF8.self), String(decoding: name, as: UTF8.self))
      let isMatch = unsafe fnmatch(text.0, text.1, 0) == 0
      if isMatch { matches += 1 }
      #expect(Glob(pattern: pattern).matches(name) == isMatch, "\(text)")
    }
    #expect(matches > 1_000)
  }

  /// Root writes the pattern, but a stranger chooses the name, so no name may make the match slow.
  @Test func `a hard pattern is soon decided`() {
    let pattern = String(repeating: "*a", count: 16) + "b"
    #expect(!Glob(pattern: pattern.utf8).matches(String(repeating: "a", count: 32).utf8))
  }
}
