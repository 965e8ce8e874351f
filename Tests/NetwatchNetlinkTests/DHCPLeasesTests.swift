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
    leases = DHCPLeases(networkd: folder.file("netif"), dhclient: [folder.file("dhcp")])
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
