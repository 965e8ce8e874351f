import Netwatch
import NetwatchTestSupport
import Testing

/// The ID of a network, and the facts that it depends on.
@Suite struct NetworkIdentityTests {
  private let key = Array("key".utf8)

  private func text(_ address: String, _ length: UInt8, gateway: UInt64 = 0x0200_0000_0007, key: [UInt8]? = nil)
    -> String
  {
    let facts = NetworkIdentity.Facts(gateway: gateway, address: .ip(address), prefixLength: length)
    return NetworkIdentity(of: facts, key: key ?? self.key).description
  }

  @Test func `an ID is what another implementation of HMAC-SHA-256 gives, and stays so`() {
    #expect(text("10.0.0.2", 24) == "852628548a033a7e")
    #expect(text("fe80::1", 64) == "b1fa48d14bf9c18c")
  }

  @Test func `an ID depends on the network, the gateway and the machine, and on nothing else`() {
    #expect(text("10.0.0.2", 24) == text("10.0.0.254", 24))
    let all = [
      text("10.0.0.2", 24), text("10.0.0.2", 25), text("10.0.1.2", 24), text("10.0.0.2", 32), text("10.0.0.3", 32),
      text("10.0.0.2", 24, gateway: 0x0200_0000_0008), text("10.0.0.2", 24, key: Array("kez".utf8)),
      text("fe80::1", 64), text("fe80::1", 128), text("0.0.0.0", 0), text("::", 0), text("::", 200),
      text("0.0.0.0", 200),
    ]
    #expect(Set(all).count == all.count)
  }

  @Test func `a text is read as it was written, and nothing else is an ID`() {
    for text in ["852628548a033a7e", "0000000000000000", "000000000000000f", "ffffffffffffffff"] {
      #expect(NetworkIdentity(text)?.description == text)
    }
    #expect(NetworkIdentity("852628548A033A7E")?.description == "852628548a033a7e")
    for text in [
      "", "852628548a033a7", "852628548a033a7ee", "+52628548a033a7e", "-52628548a033a7e", "852628548a033a7g",
      " 52628548a033a7e",
    ] {
      #expect(NetworkIdentity(text) == nil)
    }
  }
}
