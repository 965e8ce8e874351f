import Foundation
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite struct HostTableTests {
  private func value(of host: String, in values: [String: Int]) throws -> Int? {
    guard let name = HostName.canonical(host) else { return nil }
    return try HostTable(values, "test")[name]
  }

  @Test func `the most exact key counts`() throws {
    let values = ["a.example.org": 1, "*.example.org": 2, "*.b.example.org": 3, "*": 4, "192.0.2.1": 5, "::1": 6]
    let expected: [(String, Int)] = [
      ("a.example.org", 1), ("A.Example.ORG.", 1), ("x.example.org", 2), ("x.y.example.org", 2), ("b.example.org", 2),
      ("x.b.example.org", 3), ("example.org", 4), ("notexample.org", 4), ("192.0.2.1", 5), ("192.0.513", 5),
      ("0xc0.0.2.1", 5), ("[::1]", 6), ("[0:0::1]", 6), ("[::1%25lo]", 6), ("192.0.2.2", 4),
    ]
    for (host, number) in expected { #expect(try value(of: host, in: values) == number, "\(host)") }
  }

  @Test func `without a key for all, other hosts have no value`() throws {
    #expect(try value(of: "example.net", in: ["example.org": 1, "*.example.org": 2]) == nil)
    #expect(try value(of: "example.org", in: ["*.example.org": 2]) == nil)
  }

  @Test func `an international name is one name in all of its spellings`() throws {
    for key in ["bücher.example", "xn--bcher-kva.example", "BÜCHER.example."] {
      for host in ["bücher.example", "xn--bcher-kva.example", "b%C3%BCcher.example"] {
        #expect(try value(of: host, in: [key: 1]) == 1, "\(key) \(host)")
      }
    }
  }

  @Test(arguments: [
    "", "*.", "*.*.example.org", "a.*.example.org", "*example.org", "example.org:443", "https://example.org", "a b",
    ".example.org", "a..b", "*.192.0.2.1", "*.[::1]", "[::1", "user@example.org", "*.7",
  ])
  func `a key that no host can match is refused`(key: String) {
    let error = #expect(throws: HTTPError.self) { try HostTable([key: 1], "hostPolicies") }
    #expect(error?.kind == .badSecurityPolicy)
    #expect(error?.message.hasPrefix("hostPolicies: '\(key)'") ?? false, "\(error?.message ?? "")")
  }

  @Test func `two spellings of one host are refused`() {
    #expect(throws: HTTPError.self) { try HostTable(["example.org": 1, "EXAMPLE.org": 2], "test") }
    #expect(throws: HTTPError.self) { try HostTable(["*.example.org": 1, "*.example.org.": 2], "test") }
  }

  /// Checks that canonical names do not change, and that a table gives each of its own hosts the right value.
  @Test func `random texts`() throws {
    let parts = [
      "a", "B", ".", "*", "[", "]", ":", "::1", "%25", "1", "0x7f", "127", "ü", "%C3%BC", "xn--", "-", "_", " ", "\0",
      "/",
    ]
    for _ in 0..<FuzzRounds.count(default: 5_000) {
      let text = (0..<Int.random(in: 0...6)).compactMap { _ in parts.randomElement() }.joined()
      guard let name = HostName.canonical(text) else { continue }
      #expect(HostName.canonical(name) == name, "\(text)")
      #expect(try HostTable([text: 1], "test")[name] == 1, "\(text)")
      guard InternetAddress(name) == nil, let below = HostName.canonical("x.\(name)"), InternetAddress(below) == nil
      else {
        continue
      }
      #expect(try HostTable(["*.\(name)": 1, "*": 2], "test")[below] == 1, "\(text)")
    }
  }
}
