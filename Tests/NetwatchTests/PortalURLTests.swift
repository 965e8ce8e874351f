import NetwatchTestSupport
import Testing

@testable import Netwatch

/// Which addresses may be opened as a login page.
@Suite struct PortalURLTests {
  @Test func `addresses with http or https and a host`() throws {
    for (text, host) in [
      ("http://10.0.0.2/login", "10.0.0.2"), ("https://Login.Example:8443/a?b=c&d=$(id)#e", "login.example"),
      ("HTTP://portal", "portal"), ("http://[fd00::1]:80/x", "fd00::1"), ("http://h?x", "h"), ("http://h#y", "h"),
    ] {
      let url = try #require(PortalURL(text))
      #expect(url.description == text)
      #expect(url.host == host)
    }
  }

  @Test func `any other text is no login page`() {
    for text in [
      "", "login", "//host/", "file:///etc/passwd", "javascript:alert(1)", "ftp://host/", "http:", "http://",
      "http:///x",
      "http://:80/", "http://[fd00::1/", "http://[]/", "http://bank.example@evil.example/", "http://a:b@c/",
      "http://a\\@b/", "http://host/a b", "http://host/\n", "http://host/\u{1b}[2J", "http://hóst/", " http://host/",
      "-http://host/", "http://host/" + String(repeating: "x", count: 8_192),
    ] {
      #expect(PortalURL(text) == nil, "\(text)")
    }
  }

  @Test(arguments: [
    ("http://h/a?b=c&d=%2f%7E#e;f,g", "http://h/a?b=c&d=%2f%7E#e;f,g"),
    ("http://h/$(id)`id`", "http://h/%24%28id%29%60id%60"), ("http://h/100%", "http://h/100%25"),
    ("http://h/%zz%4", "http://h/%25zz%254"), ("http://[fd00::1]:80/a[1]", "http://[fd00::1]:80/a%5B1%5D"),
    ("http://h/a#b#c", "http://h/a#b%23c"), ("http://h/\"<>\\^{|}'", "http://h/%22%3C%3E%5C%5E%7B%7C%7D%27"),
    ("http://h\"$(x)/", "http://h%22%24%28x%29/"), ("http://h/%", "http://h/%25"), ("http://h/%41", "http://h/%41"),
  ])
  func `it is opened with escapes, and existing ones stay`(_ text: String, _ encoded: String) throws {
    let url = try #require(PortalURL(text))
    #expect(url.description == text)
    #expect(url.encoded == encoded)
    // A text that is already encoded is not encoded again.
    #expect(PortalURL(encoded)?.encoded == encoded)
  }

  @Test func `whatever is taken is one word of visible ASCII that begins with its scheme`() {
    var random = SplitMix(seed: 22)
    let pieces = [
      "http://", "https://", "h", "[", "]", ":", "/", "@", "?", "#", "\\", " ", "\n", "%0a", "é", "-", "$(x)", "'",
    ]
    for _ in 0..<FuzzRounds.count(default: 20_000) {
      let count = Int.random(in: 0...8, using: &random)
      let text = (0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &random)] }.joined()
      guard let url = PortalURL(text) else { continue }
      #expect(url.description.hasPrefix("http"))
      #expect(url.description.utf8.allSatisfy { 0x21..<0x7f ~= $0 })
      #expect(!url.host.isEmpty)
      #expect(!url.encoded.utf8.contains { "$()'`\"\\<> ".utf8.contains($0) })
      #expect(url.encoded.hasPrefix("http"))
    }
  }
}
