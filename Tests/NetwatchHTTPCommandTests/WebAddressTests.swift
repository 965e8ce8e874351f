import Testing

@testable import NetwatchHTTPCommand

@Suite struct WebAddressTests {
  @Test(
    arguments: [
      ("http://x/a.iso", "a.iso"), ("https://x/a/b/c%20d.txt?e/f#g/h", "c d.txt"), ("http://x/%E7%B6%B2.gz", "網.gz"),
      ("http://x/a;b=c", "a;b=c"), ("http://x/100%25", "100%"), ("http://x/~a", "~a"), ("http://x/a//b", "b"),
      ("http://x/a.", "a."), ("http://x?a/b", nil), ("http://x/a/", nil), ("http://x/%2E%2e", nil),
      ("http://x/.", nil), ("http://x/a%2fb", nil), ("http://x/a%5cb", "a\\b"), ("http://x/a%1", nil),
      ("http://x/a%+1", nil), ("http://x/a%00", nil), ("http://x/%c3", nil), ("http://x/a%7f", nil),
      ("http://x/%E2%80%AEa", nil), ("http://x/" + String(repeating: "a", count: 256), nil),
    ] as [(String, String?)])
  func `the file has the name that the URL gives it, where that surprises nobody`(url: String, name: String?) throws {
    #expect(try WebAddress(url).fileName == name)
  }

  @Test(arguments: [
    ("HTTP://Example.org:8080/a", "Example.org:8080", "http://Example.org:8080/a"),
    ("https://u:p@x/a@b", "x", "https://x/a@b"), ("https://u:p@q@[::1]:1/a#p", "[::1]:1", "https://[::1]:1/a"),
    ("https://x?q=1#f", "x", "https://x?q=1"),
    ("http://bücher.example/ä b", "bücher.example", "http://bücher.example/ä b"),
  ])
  func `what is asked for is without what is secret`(url: String, host: String, text: String) throws {
    let address = try WebAddress(url)
    #expect(address.host == host)
    #expect(address.text == text)
  }

  @Test func `a user and a password are decoded`() throws {
    let both = try WebAddress("https://a%40b:c%3Ad:e@x/f")
    #expect(both.user == "a@b" && both.password == "c:d:e")
    let one = try WebAddress("https://a@x/f")
    #expect(one.user == "a" && one.password == "")
    #expect(try WebAddress("https://x/a:b@c").user == nil)
  }
}
