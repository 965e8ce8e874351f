import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchNetlink

/// Which name servers the machine is configured to ask.
@Suite struct NameServersTests {
  private func servers(_ resolvConf: String, resolved: String? = nil) throws -> ([String], Bool) {
    let folder = try TemporaryFolder()
    try folder.write(resolvConf, to: "resolv.conf")
    if let resolved { try folder.write(resolved, to: "resolved") }
    let servers = NameServers.configured(resolvConf: folder.file("resolv.conf"), resolved: folder.file("resolved"))
    return (servers.addresses.map(\.description), servers.hasLocal)
  }

  @Test func `those that resolv.conf names`() throws {
    let text = """
      # nameserver 10.9.9.9
      search example
      nameserver 10.0.0.1
      nameserver\tfe80::1%eth0
      nameserver
      nameserver nobody
      options timeout:1
       nameserver 2001:db8::1  # a comment
      """
    #expect(try servers(text) == (["10.0.0.1", "fe80::1", "2001:db8::1"], false))
    #expect(try servers("") == ([], false))
    #expect(try servers("nameserver 127.0.0.1\nnameserver 10.0.0.1\n") == (["10.0.0.1"], true))
  }

  @Test func `where systemd-resolved listens, those that it asks`() throws {
    let listener = "nameserver 127.0.0.53\noptions edns0 trust-ad\n"
    #expect(
      try servers(listener, resolved: "nameserver 10.0.0.1\nnameserver fd00::1\n") == (["10.0.0.1", "fd00::1"], false))
    #expect(try servers(listener) == ([], true))
    #expect(try servers("nameserver 10.0.0.2\n", resolved: "nameserver 10.0.0.1\n") == (["10.0.0.2"], false))
  }

  @Test func `it is known whether one alone can have answered, and whether systemd-resolved asks for programs`() throws
  {
    let folder = try TemporaryFolder()
    func read(_ resolvConf: String, _ resolved: String = "") throws -> NameServers {
      try folder.write(resolvConf, to: "resolv.conf")
      try folder.write(resolved, to: "resolved")
      return NameServers.configured(resolvConf: folder.file("resolv.conf"), resolved: folder.file("resolved"))
    }
    let stub = "nameserver 127.0.0.53\n"
    var servers = try read(stub, "nameserver 10.0.0.1\n")
    #expect((servers.only, servers.areBehindResolved) == (.ip("10.0.0.1"), true))
    servers = try read(stub, "nameserver 10.0.0.1\nnameserver 10.0.0.2\n")
    #expect((servers.only, servers.areBehindResolved) == (nil, true))
    servers = try read(stub)
    #expect((servers.only, servers.areBehindResolved) == (.ip("127.0.0.53"), false))
    servers = try read("nameserver 10.0.0.1\n", "nameserver 10.0.0.2\n")
    #expect((servers.only, servers.areBehindResolved) == (.ip("10.0.0.1"), false))
  }

  @Test func `resolved.conf says whether it asks by TLS only, and the last part counts`() throws {
    let folder = try TemporaryFolder()
    let folders = [folder.file("usr"), folder.file("etc")]
    func asks() -> Bool { NameServers.asksByTLSOnly(folders) }
    #expect(!asks())
    try folder.write("[Resolve]\n#DNSOverTLS=yes\nDNSSEC=yes\n", to: "usr/resolved.conf")
    #expect(!asks())
    try folder.write("[Resolve]\nDNSOverTLS = Yes\n", to: "usr/resolved.conf")
    #expect(asks())
    // The file of the machine replaces that of the distribution.
    try folder.write("[Resolve]\n", to: "etc/resolved.conf")
    #expect(!asks())
    try folder.write("[Resolve]\nDNSOverTLS=true\n", to: "usr/resolved.conf.d/20-tls.conf")
    #expect(asks())
    try folder.write("[Resolve]\nDNSOverTLS=opportunistic\n", to: "etc/resolved.conf.d/30-mine.conf")
    #expect(!asks())
    // A part of the same name replaces the other one.
    try folder.write("[Resolve]\nDNSOverTLS=1\n", to: "usr/resolved.conf.d/30-mine.conf")
    #expect(!asks())
    try folder.write("DNSOverTLS=1\n", to: "etc/resolved.conf.d/99.conf.old")
    #expect(!asks())
  }

  @Test func `without a file there is none, and whatever stands in one, no more than sixteen`() throws {
    #expect(NameServers.configured(resolvConf: "/nowhere/resolv.conf", resolved: "/nowhere/resolved").addresses.isEmpty)
    let many = (1...200).map { "nameserver 10.0.0.\($0)\n" }.joined()
    #expect(try servers(many).0.count == 16)
    var random = SplitMix(seed: 53)
    let folder = try TemporaryFolder()
    for _ in 0..<200 {
      let bytes = (0..<300).map { _ in Array("nameserver 10.:%\n\t\u{0}é".utf8).randomElement(using: &random) ?? 0 }
      try folder.write(String(decoding: bytes, as: UTF8.self), to: "resolv.conf")
      #expect(
        NameServers.configured(resolvConf: folder.file("resolv.conf"), resolved: "/nowhere").addresses.count <= 16)
    }
  }
}
