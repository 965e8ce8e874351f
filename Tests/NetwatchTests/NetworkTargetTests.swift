import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct NetworkTargetTests {
  @Test(arguments: [
    ("192.0.2.7", "192.0.2.7"), ("192.0.2.7:443", "192.0.2.7:443"), ("192.0.2.7:1", "192.0.2.7:1"),
    ("192.0.2.7:65535", "192.0.2.7:65535"), ("169.254.1.1", "169.254.1.1"),
    ("2001:db8::7", "2001:db8::7"), ("[2001:db8::7]", "2001:db8::7"), ("[2001:DB8::7]:443", "[2001:db8::7]:443"),
    // Without brackets, the whole text is the address.
    ("2001:db8::7:443", "2001:db8::7:443"),
    ("example.org", "example.org"), ("example.org:443", "example.org:443"), ("example.org.", "example.org."),
    ("example.org.:53", "example.org.:53"), ("printer", "printer"), ("a", "a"), ("1a", "1a"),
    ("3com.example", "3com.example"),
    ("1.2.3.4.example", "1.2.3.4.example"), ("_sip._tcp.example", "_sip._tcp.example"),
    ("a--b.example", "a--b.example"),
    ("xn--bcher-kva.example", "xn--bcher-kva.example"), ("0x.example", "0x.example"), ("0xg", "0xg"),
    ("Example.ORG", "Example.ORG"), ("bücher.example:80", "bücher.example:80"), ("例え.テスト", "例え.テスト"),
    ("internet", "internet"), ("localhost.example", "localhost.example"), ("notlocalhost", "notlocalhost"),
  ])
  func `a target is read, and written as it can be read again`(_ text: String, _ description: String) throws {
    let target = try NetworkTarget(text)
    #expect(target.description == description)
    #expect(try NetworkTarget(description) == target)
    #expect(target != .internet)
  }

  @Test func `what is read is an address where it can be one`() throws {
    #expect(try NetworkTarget("192.0.2.7:443") == .address(.ip("192.0.2.7"), port: 443))
    #expect(try NetworkTarget("[2001:db8::7]:443") == .address(.ip("2001:db8::7"), port: 443))
    #expect(try NetworkTarget("2001:db8::7") == .address(.ip("2001:db8::7"), port: nil))
    #expect(try NetworkTarget("example.org:443") == .host(HostName("example.org"), port: 443))
    #expect(try NetworkTarget("Example.ORG") == NetworkTarget("example.org"))
    #expect(try NetworkTarget("example.org.") != NetworkTarget("example.org"))
  }

  @Test func `a name is asked for in lower case, with the dot that makes it complete`() throws {
    #expect(try HostName("Example.ORG.").name == "example.org.")
    #expect(try HostName("Example.ORG.").text == "Example.ORG.")
    #expect(try Set([HostName("a.example"), HostName("A.example"), HostName("a.Example")]).count == 1)
  }

  private static let label = String(repeating: "a", count: 63)
  /// A name of 253 bytes, which is the longest one.
  private static let longest = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")

  @Test func `the longest names are read`() throws {
    #expect(try NetworkTarget(Self.longest).description == Self.longest)
    #expect(try NetworkTarget(Self.longest + ".").description == Self.longest + ".")
  }

  @Test(arguments: [
    ("", "cannot be empty; write 192.0.2.7, 2001:db8::7 or example.org."),
    ("https://example.org/a?b#c", "is a URL; give its host alone, write example.org."),
    ("https://example.org", "is a URL; give its host alone, write example.org."),
    ("https://joe:secret@example.org:8443/a", "is a URL; give its host alone, write example.org:8443."),
    ("http://[2001:db8::7]:80/", "is a URL; give its host alone, write [2001:db8::7]:80."),
    ("file:///etc/hosts", "is a URL; give its host alone, write one such as example.org."),
    ("http://a://b", "is a URL; give its host alone, write one such as example.org."),
    ("://", "is a URL; give its host alone, write one such as example.org."),
    ("joe@example.org", "names a user; give its host alone, write example.org."),
    ("joe:secret@192.0.2.7:22", "names a user; give its host alone, write 192.0.2.7:22."),
    ("example.org/a", "has a path; give its host alone, write example.org."),
    ("192.0.2.0/24", "has a path; give its host alone, write 192.0.2.0."),
    ("2001:db8::/32", "has a path; give its host alone, write 2001:db8::."),
    ("example.org:", "has no valid port after its colon; write a number from 1 to 65535, or no colon."),
    ("example.org:0", "has no valid port after its colon; write a number from 1 to 65535, or no colon."),
    ("example.org:65536", "has no valid port after its colon; write a number from 1 to 65535, or no colon."),
    ("example.org:-1", "has no valid port after its colon; write a number from 1 to 65535, or no colon."),
    ("example.org:+80", "has no valid port after its colon; write a number from 1 to 65535, or no colon."),
    ("example.org:https", "has no valid port after its colon; write a number from 1 to 65535, or no colon."),
    ("example.org:٤", "has no valid port after its colon; write a number from 1 to 65535, or no colon."),
    ("192.0.2.7:x", "has no valid port after its colon; write a number from 1 to 65535, or no colon."),
    ("[2001:db8::7]:", "has no valid port after its colon; write a number from 1 to 65535, or no colon."),
    (":443", "has no host before its port; write one, such as example.org:443."),
    ("2001:db8::7::1", "is not an IPv6 address; write 2001:db8::7, or [2001:db8::7]:443 with a port."),
    ("example.org:80:80", "is not an IPv6 address; write 2001:db8::7, or [2001:db8::7]:443 with a port."),
    ("[2001:db8::7", "is not an IPv6 address; write 2001:db8::7, or [2001:db8::7]:443 with a port."),
    ("[2001:db8::7]443", "is not an IPv6 address; write 2001:db8::7, or [2001:db8::7]:443 with a port."),
    ("[192.0.2.7]:80", "is not an IPv6 address; write 2001:db8::7, or [2001:db8::7]:443 with a port."),
    ("[example.org]", "is not an IPv6 address; write 2001:db8::7, or [2001:db8::7]:443 with a port."),
    ("[", "is not an IPv6 address; write 2001:db8::7, or [2001:db8::7]:443 with a port."),
    ("fe80::1%eth0", "has a zone; give an address that means the same on every link."),
    ("[fe80::1%eth0]:80", "has a zone; give an address that means the same on every link."),
    ("127.0.0.1", "127.0.0.1 is this machine itself; give an address elsewhere."),
    ("127.9.9.9:80", "127.9.9.9 is this machine itself; give an address elsewhere."),
    ("::1", "::1 is this machine itself; give an address elsewhere."),
    ("[::1]:80", "::1 is this machine itself; give an address elsewhere."),
    ("0.0.0.0", "0.0.0.0 is this machine itself; give an address elsewhere."),
    ("::", ":: is this machine itself; give an address elsewhere."),
    ("224.0.0.1", "224.0.0.1 is reached over every link or none; give a unicast address beyond the link."),
    ("ff02::1", "ff02::1 is reached over every link or none; give a unicast address beyond the link."),
    ("fe80::1", "fe80::1 is reached over every link or none; give a unicast address beyond the link."),
    ("localhost", "localhost is this machine itself; give a host elsewhere."),
    ("LocalHost.", "LocalHost. is this machine itself; give a host elsewhere."),
    ("foo.localhost:80", "foo.localhost is this machine itself; give a host elsewhere."),
    ("300.1.1.1", "is no IPv4 address; write four numbers from 0 to 255, such as 192.0.2.7."),
    ("1.2.3", "is no IPv4 address; write four numbers from 0 to 255, such as 192.0.2.7."),
    ("1.2.3.4.5", "is no IPv4 address; write four numbers from 0 to 255, such as 192.0.2.7."),
    ("3232235777", "is no IPv4 address; write four numbers from 0 to 255, such as 192.0.2.7."),
    ("192.0.2.7.", "is no IPv4 address; write four numbers from 0 to 255, such as 192.0.2.7."),
    ("0x7f000001", "is no IPv4 address; write four numbers from 0 to 255, such as 192.0.2.7."),
    ("0X7f.0.0x1:80", "is no IPv4 address; write four numbers from 0 to 255, such as 192.0.2.7."),
    ("0x", "is no IPv4 address; write four numbers from 0 to 255, such as 192.0.2.7."),
    ("a..b", "has nothing between two dots; write a name such as example.org."),
    (".example.org", "has nothing between two dots; write a name such as example.org."),
    (".", "has nothing between two dots; write a name such as example.org."),
    ("..", "has nothing between two dots; write a name such as example.org."),
    ("example.org..", "has nothing between two dots; write a name such as example.org."),
    ("exa mple.org", "is not a host name; write one of letters, digits, hyphens and underscores."),
    (" example.org", "is not a host name; write one of letters, digits, hyphens and underscores."),
    ("example.org\n", "is not a host name; write one of letters, digits, hyphens and underscores."),
    ("exam\0ple.org", "is not a host name; write one of letters, digits, hyphens and underscores."),
    ("*.example.org", "is not a host name; write one of letters, digits, hyphens and underscores."),
    ("host%eth0", "is not a host name; write one of letters, digits, hyphens and underscores."),
    ("a.\u{301}b", "is not a host name; write one of letters, digits, hyphens and underscores."),
    ("-a.example", "begins or ends with a hyphen between its dots; write a name such as a-b.org."),
    ("a-.example", "begins or ends with a hyphen between its dots; write a name such as a-b.org."),
    ("a.-", "begins or ends with a hyphen between its dots; write a name such as a-b.org."),
    (longest + "b", "is longer than the 253 bytes of a host name; give a shorter one."),
    (label + "a.example", "has more than 63 bytes between two dots; give a shorter name."),
    (String(repeating: "ü", count: 64), "has more than 63 bytes between two dots; give a shorter name."),
  ])
  func `other text is refused with one sentence`(_ text: String, _ ending: String) {
    let error = #expect(throws: NetworkTargetError.self) { try NetworkTarget(text) }
    #expect(error?.description.hasSuffix(ending) == true, "\(error?.description ?? "")")
  }

  @Test func `an empty name is refused by itself`() {
    #expect(throws: NetworkTargetError.self) { try HostName("") }
  }

  @Test func `random text is refused, or read as it is written`() throws {
    var random = SplitMix(seed: 8)
    let pieces = [
      "a", "1", "-", "_", ".", ":", "::", "[", "]", "@", "/", "%", "://", "ü", "\u{301}", "0x", "443", " ", "\0",
    ]
    var targets = 0
    for _ in 0..<FuzzRounds.count(default: 20_000) {
      let count = Int.random(in: 0...6, using: &random)
      let text = (0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &random)] }.joined()
      guard let target = try? NetworkTarget(text) else { continue }
      targets += 1
      #expect(try NetworkTarget(target.description) == target, "\(text)")
    }
    #expect(targets > 100)
  }
}
