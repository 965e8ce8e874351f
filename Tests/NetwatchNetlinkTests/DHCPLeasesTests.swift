import Foundation
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// Files that real DHCP clients wrote for a server that sent ANDROID_METERED in option 43, and what netwatch reads in
/// them.
@Suite struct DHCPLeasesTests {
  /// A lease of systemd 252.
  private static let networkd = """
    # This is private data. Do not parse.
    ADDRESS=192.168.43.50
    NETMASK=255.255.255.0
    ROUTER=192.168.43.1
    SERVER_ADDRESS=192.168.43.1
    NEXT_SERVER=192.168.43.1
    BROADCAST=192.168.43.255
    T1=1800
    T2=3150
    LIFETIME=3600
    HOSTNAME=vm
    CLIENTID=ffb210f0a000020000ab110033bdebf95e192c
    VENDOR_SPECIFIC=414e44524f49445f4d455445524544

    """

  /// A lease of ISC dhclient 4.4.3.
  private static let dhclient = """
    lease {
      interface "wlan0";
      fixed-address 192.168.43.50;
      option subnet-mask 255.255.255.0;
      option routers 192.168.43.1;
      option dhcp-lease-time 3600;
      option dhcp-message-type 5;
      option dhcp-server-identifier 192.168.43.1;
      option dhcp-renewal-time 1800;
      option broadcast-address 192.168.43.255;
      option dhcp-rebinding-time 3150;
      option vendor-encapsulated-options "ANDROID_METERED";
      renew 2 2026/11/24 02:39:22;
      rebind 2 2026/11/24 03:06:05;
      expire 2 2026/11/24 03:13:35;
    }

    """

  private let folder: TemporaryFolder
  private let leases: DHCPLeases

  init() throws {
    folder = try TemporaryFolder()
    leases = DHCPLeases(
      networkd: folder.file("netif"), networkdLinks: folder.file("links"), dhclient: [folder.file("dhcp")],
      dhcpcd: folder.file("dhcpcd"))
  }

  private func isMetered(_ address: InternetAddress = .ip("192.168.43.50"), link: String = "wlan0", index: Int32 = 3)
    -> Bool
  {
    leases.isMetered(link: link, index: index, address: address)
  }

  @Test func `without a file nothing is said`() { #expect(!isMetered()) }

  @Test func `a lease of systemd-networkd counts for its link and its address`() throws {
    try folder.write(Self.networkd, to: "netif/3")
    #expect(isMetered())
    #expect(!isMetered(index: 4))
    #expect(!isMetered(.ip("192.168.43.51")))
    try folder.write(Self.networkd.replacing("VENDOR_SPECIFIC=", with: "OPTION_43="), to: "netif/3")
    #expect(!isMetered())
    // A phone may add bytes before and after the mark. If the letters begin at an odd digit, they are other bytes.
    try folder.write(Self.networkd.replacing("=414e", with: "=0102414e"), to: "netif/3")
    #expect(isMetered())
    try folder.write(Self.networkd.replacing("=414e", with: "=0414e"), to: "netif/3")
    #expect(!isMetered())
  }

  @Test func `a lease of dhclient counts for its link and its address`() throws {
    try folder.write(Self.dhclient, to: "dhcp/dhclient.leases")
    #expect(isMetered())
    #expect(!isMetered(link: "wlan1"))
    #expect(!isMetered(.ip("192.168.43.5")))
    try folder.remove("dhcp/dhclient.leases")
    try folder.write(Self.dhclient, to: "dhcp/dhclient.wlan0.leases")
    #expect(isMetered())
    // dhclient writes the bytes in this form if not all of them are graphic characters.
    let bytes = "ANDROID_METERED".utf8.map { String($0, radix: 16) }.joined(separator: ":")
    try folder.write(
      Self.dhclient.replacing("\"ANDROID_METERED\"", with: bytes + ":0"), to: "dhcp/dhclient.wlan0.leases")
    #expect(isMetered())
  }

  @Test func `a lease of dhclient says where the login page is`() throws {
    func portal() -> String? {
      leases.lease(link: "wlan0", index: 3, address: .ip("192.168.43.50"))?.portalAPI?.description
    }
    #expect(portal() == nil)
    let line = "option default-url \"https://portal.example/api?a=b\";"
    let text = Self.dhclient.replacing("option subnet-mask", with: "\(line)\n  option subnet-mask")
    try folder.write(text, to: "dhcp/dhclient.leases")
    #expect(portal() == "https://portal.example/api?a=b")
    try folder.write(text.replacing("https:", with: "javascript:"), to: "dhcp/dhclient.leases")
    #expect(portal() == nil)
    // The newest lease says nothing.
    try folder.write(text + Self.dhclient, to: "dhcp/dhclient.leases")
    #expect(portal() == nil)
  }

  // MARK: What is said about the network

  private func facts(_ addresses: String...) -> LeasedFacts? {
    leases.facts(link: "wlan0", index: 3, addresses: addresses.map { .ip($0) })
  }

  private static let portal = PortalAPI("https://portal.example/api")

  @Test func `networkd's state of a link says where the login page is, and which name servers count`() throws {
    #expect(facts("192.168.43.50") == nil)
    // As systemd 254 and later write it.
    let state = """
      # This is private data. Do not parse.
      ADMIN_STATE=configured
      OPER_STATE=routable
      NETWORK_FILE=/etc/systemd/network/wifi.network
      DNS=192.168.43.1 [fe80::1%wlan0]:53#dns.example 2001:db8::53
      CAPTIVE_PORTAL=https://portal.example/api
      DOMAINS=

      """
    try folder.write(state, to: "links/3")
    let all = LeasedFacts(
      portalAPI: Self.portal, nameServers: [.ip("192.168.43.1"), .ip("fe80::1"), .ip("2001:db8::53")])
    #expect(facts("192.168.43.50") == all)
    // With IPv6 alone, there is no lease.
    #expect(facts("2001:db8::2") == all)
    try folder.write(Self.networkd, to: "netif/3")
    #expect(facts("192.168.43.50") == all)
    // A lease for another address is that of another network namespace's link, and so is the state.
    #expect(facts("192.168.43.51") == nil)
    try folder.write(state.replacing("CAPTIVE_PORTAL=https", with: "CAPTIVE_PORTAL=file"), to: "links/3")
    #expect(facts("192.168.43.50")?.portalAPI == nil)
  }

  @Test func `name servers are read in each lease`() throws {
    try folder.write(Self.networkd + "DNS=192.168.43.1 9.9.9.9\n", to: "netif/3")
    #expect(facts("192.168.43.50")?.nameServers == [.ip("192.168.43.1"), .ip("9.9.9.9")])
    try folder.remove("netif/3")
    let line = "option domain-name-servers 192.168.43.1,9.9.9.9;"
    try folder.write(
      Self.dhclient.replacing("option subnet-mask", with: "\(line)\n  option subnet-mask"), to: "dhcp/dhclient.leases")
    #expect(facts("192.168.43.50")?.nameServers == [.ip("192.168.43.1"), .ip("9.9.9.9")])
  }

  /// The options of a DHCP message that dhcpcd 9.4.1 kept, after the fixed part with the address 10.0.0.55.
  private static func message(_ options: [UInt8]) -> [UInt8] {
    let head: [UInt8] = [2, 1, 6, 0] + [UInt8](repeating: 0, count: 12) + [10, 0, 0, 55]
    return head + [UInt8](repeating: 0, count: 236 - head.count) + [99, 130, 83, 99] + options
  }

  @Test(arguments: ["wlan0.lease", "wlan0-Train.lease"])
  func `dhcpcd's lease is read by root`(_ file: String) throws {
    let uri = Array("https://portal.example/api".utf8)
    let options: [UInt8] =
      [53, 1, 5, 0, 0, 6, 8, 10, 0, 0, 2, 9, 9, 9, 9, 43, 15] + Array("ANDROID_METERED".utf8)
      + [114, 8] + uri.prefix(8) + [114, UInt8(uri.count - 8)] + uri.dropFirst(8) + [255, 114, 1, 0]
    try folder.makeFolder("dhcpcd")
    try Data(Self.message(options)).write(to: URL(filePath: folder.file("dhcpcd/\(file)")))
    #expect(facts("10.0.0.55") == LeasedFacts(portalAPI: Self.portal, nameServers: [.ip("10.0.0.2"), .ip("9.9.9.9")]))
    #expect(facts("10.0.0.54") == nil)
    #expect(leases.isMetered(link: "wlan0", index: 3, address: .ip("10.0.0.55")))
    #expect(leases.lease(link: "wlan1", index: 3, address: .ip("10.0.0.55")) == nil)
  }

  @Test func `messages of any content do no harm`() {
    var random = SplitMix(seed: 2_131)
    for _ in 0..<20_000 {
      let options = (0..<Int.random(in: 0...60, using: &random)).map { _ in
        Bool.random(using: &random)
          ? UInt8.random(in: .min ... .max, using: &random)
          : [6, 43, 114, 0, 4, 255].randomElement(using: &random) ?? 0
      }
      let message = Self.message(options)
      _ = DHCPLeases.lease(message: message, address: .ip("10.0.0.55"))
      _ = DHCPLeases.lease(
        message: Array(message.prefix(Int.random(in: 0...message.count, using: &random))), address: .ip("10.0.0.55"))
    }
  }

  @Test func `of several leases of an address the last one counts`() throws {
    let plain = Self.dhclient.replacing("ANDROID_METERED", with: "x")
    let other = Self.dhclient.replacing("192.168.43.50", with: "10.0.0.9")
    try folder.write(Self.dhclient + plain, to: "dhcp/dhclient.leases")
    #expect(!isMetered())
    try folder.write(plain + Self.dhclient + other.replacing("ANDROID_METERED", with: "x"), to: "dhcp/dhclient.leases")
    #expect(isMetered())
    // The file grows with each renewal, so only its end is read.
    try folder.write(String(repeating: plain, count: 1_000) + Self.dhclient, to: "dhcp/dhclient.leases")
    #expect(isMetered())
    try folder.write(Self.dhclient + String(repeating: other, count: 1_000), to: "dhcp/dhclient.leases")
    #expect(!isMetered())
  }

  @Test func `other options that say so are no mark`() throws {
    try folder.write(
      Self.dhclient.replacing("option vendor-encapsulated-options", with: "option domain-name"),
      to: "dhcp/dhclient.leases")
    #expect(!isMetered())
    try folder.write(
      Self.networkd.replacing("VENDOR_SPECIFIC=414e44524f49445f4d455445524544", with: "DOMAINNAME=ANDROID_METERED"),
      to: "netif/3")
    #expect(!isMetered())
  }

  @Test func `a pipe or a folder in the place of a file is no lease, and nobody waits`() throws {
    try folder.makeFolder("netif/3")
    try folder.makeFolder("dhcp")
    #expect(unsafe mkfifo(folder.file("dhcp/dhclient.leases"), 0o600) == 0)
    #expect(!isMetered())
  }

  @Test(arguments: [UInt64(41), 42])
  func `mutated files do no harm, and no lease says more than its bytes`(_ seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let texts = [Array(Self.networkd.utf8), Array((Self.dhclient + Self.dhclient).utf8)]
    var metered = 0
    for round in 0..<FuzzRounds.count(default: 4_000) / 2 {
      var bytes = texts[round % 2]
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...40, using: &random)))
        case 2: bytes.insert(contentsOf: bytes[place...].prefix(60), at: place)
        default: bytes[place] = [10, 34, 59, 123, 125, 61].randomElement(using: &random) ?? 10
        }
        if bytes.isEmpty { bytes = texts[0] }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      let address = InternetAddress.ip("192.168.43.50")
      let found = [
        DHCPLeases.lease(networkd: text, address: address),
        DHCPLeases.lease(dhclient: text, link: "wlan0", address: address),
      ]
      guard found.contains(where: { $0?.isMetered == true }) else { continue }
      metered += 1
      if !text.contains("192.168.43.50") || !text.contains("VENDOR_SPECIFIC=") && !text.contains("ANDROID_METERED") {
        Issue.record("seed \(seed), round \(round): \(text)")
        return
      }
    }
    #expect(metered > 0)
  }
}
