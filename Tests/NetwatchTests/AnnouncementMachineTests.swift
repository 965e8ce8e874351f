import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct AnnouncementMachineTests {
  /// A machine that expectations may change.
  private final class Listener {
    private var machine = AnnouncementMachine()
    var portal: PortalAPI? { machine.announcements.portalAPI }

    var servers: [String] { machine.announcements.nameServers.map(\.description) }
    var deadline: Duration? { machine.deadline }
    var prefix: String? { machine.announcements.translationPrefix?.description }

    func handle(_ input: AnnouncementMachine.Input, at now: Duration = .zero) -> Bool { machine.handle(input, at: now) }
  }

  private static let portal = PortalAPI("https://portal.example/api")

  private static func advertised(_ portal: PortalAPI?, over link: Int32) -> AnnouncementMachine.Input {
    .advertised(RouterOption(interfaceIndex: link, content: .captivePortal(portal ?? .unrestricted)))
  }

  /// Returns the path over eth0, which is link 2, with its link as it is reported.
  private static func path(losses: UInt32 = 0, _ state: LinkState = .up) -> NetworkPath {
    var kernel = ScriptedKernel()
    var update = LinkUpdate(index: 2, flags: state == .up ? 0x1_1043 : 0x1003, hardwareType: 1)
    update.name = InterfaceName("eth0")
    (update.operationalState, update.isComplete, update.carrierLosses) = (state == .up ? .up : .down, true, losses)
    kernel.facts = [.loopback, .link(update), .link(3, "wlan0"), .address(2, .ip("10.0.0.1"))]
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.start()
    return kernel.machine.path
  }

  @Test func `what is heard over the link of the path counts, and news is told once`() {
    let machine = Listener()
    #expect(!machine.handle(.path(Self.path())))
    #expect(machine.handle(Self.advertised(Self.portal, over: 2)))
    #expect(!machine.handle(Self.advertised(Self.portal, over: 2)))
    #expect(!machine.handle(Self.advertised(.unrestricted, over: 3)))
    #expect(machine.portal == Self.portal)
    #expect(!machine.handle(.path(Self.path())))
    #expect(machine.handle(Self.advertised(.unrestricted, over: 2)))
    #expect(machine.portal == .unrestricted)
  }

  @Test func `what was heard before the first path counts`() {
    let machine = Listener()
    #expect(!machine.handle(Self.advertised(Self.portal, over: 2)))
    #expect(machine.handle(.path(Self.path(losses: 4))))
    #expect(machine.portal == Self.portal)
    #expect(!machine.handle(.path(Self.path(losses: 4))))
  }

  @Test func `a link that has lost its carrier may be in another network, even if it is back already`() {
    for later in [Self.path(losses: 1), Self.path(losses: 0, .noCarrier)] {
      let machine = Listener()
      _ = machine.handle(.path(Self.path()))
      _ = machine.handle(Self.advertised(Self.portal, over: 2))
      #expect(machine.handle(.path(later)))
      #expect(machine.portal == nil)
    }
  }

  @Test func `a lease counts before an advertisement, and the end of what it says`() {
    let machine = Listener()
    _ = machine.handle(.path(Self.path()))
    #expect(!machine.handle(.leased(link: 2, nil)))
    #expect(machine.handle(Self.advertised(.unrestricted, over: 2)))
    #expect(machine.handle(.leased(link: 2, LeasedFacts(portalAPI: Self.portal))))
    #expect(machine.portal == Self.portal)
    #expect(!machine.handle(Self.advertised(.unrestricted, over: 2)))
    #expect(machine.handle(.leased(link: 2, nil)))
    #expect(machine.portal == .unrestricted)
  }

  @Test func `name servers count for their lifetime, those of the lease first`() {
    func servers(_ addresses: String..., lifetime: Duration?) -> AnnouncementMachine.Input {
      .advertised(RouterOption(interfaceIndex: 2, content: .nameServers(addresses.map { .ip($0) }, lifetime: lifetime)))
    }
    let machine = Listener()
    _ = machine.handle(.path(Self.path()))
    #expect(machine.handle(servers("fd00::1", "fd00::2", lifetime: .seconds(600)), at: .seconds(1)))
    #expect(machine.servers == ["fd00::1", "fd00::2"])
    _ = machine.handle(servers("fd00::2", lifetime: nil), at: .seconds(2))
    #expect(machine.deadline == .seconds(601))
    _ = machine.handle(.leased(link: 2, LeasedFacts(nameServers: [.ip("10.0.0.53"), .ip("fd00::2")])), at: .seconds(3))
    #expect(machine.servers == ["10.0.0.53", "fd00::2", "fd00::1"])
    _ = machine.handle(.timerFired, at: .seconds(601))
    #expect(machine.servers == ["10.0.0.53", "fd00::2"])
    #expect(machine.deadline == nil)
    _ = machine.handle(.leased(link: 2, nil), at: .seconds(602))
    _ = machine.handle(servers("fd00::2", lifetime: .zero), at: .seconds(603))
    #expect(machine.servers == [])
    for number in 0..<100 { _ = machine.handle(servers("fd00::1:\(number)", lifetime: nil)) }
    #expect(machine.servers.count == 16)
  }

  @Test func `a prefix of NAT64 counts for its lifetime, and the first one while there are two`() throws {
    func prefix(_ text: String, seconds: Int) throws -> AnnouncementMachine.Input {
      .advertised(
        RouterOption(
          interfaceIndex: 2, content: .translationPrefix(try #require(NAT64Prefix(text)), lifetime: .seconds(seconds))))
    }
    let machine = Listener()
    _ = machine.handle(.path(Self.path()))
    #expect(machine.handle(try prefix("64:ff9b::/96", seconds: 600)))
    #expect(!machine.handle(try prefix("2001:db8:64::/64", seconds: 900), at: .seconds(1)))
    #expect(!machine.handle(try prefix("64:ff9b::/96", seconds: 600), at: .seconds(10)))
    #expect(machine.prefix == "64:ff9b::/96")
    #expect(machine.deadline == .seconds(610))
    #expect(!machine.handle(.timerFired, at: .seconds(609)))
    #expect(machine.handle(.timerFired, at: .seconds(610)))
    #expect(machine.prefix == "2001:db8:64::/64")
    #expect(machine.handle(try prefix("2001:db8:64::/64", seconds: 0), at: .seconds(611)))
    #expect(machine.prefix == nil)
    #expect(machine.deadline == nil)
  }

  @Test(arguments: [
    ("https://portal.example/api", "https://portal.example/api"),
    ("URN:ietf:params:capport:unrestricted", "urn:ietf:params:capport:unrestricted"),
    ("urn:ietf:params:capport:other", nil), ("ftp://portal.example/", nil), ("https://", nil), ("", nil),
    ("https://user@portal.example/", nil), ("https://portal.example/\u{1b}[2J", nil),
  ])
  func `only web addresses and the word for none are portals`(_ text: String, _ portal: String?) {
    #expect(PortalAPI(text)?.description == portal)
  }

  @Test func `a million links need little memory`() {
    let machine = Listener()
    _ = machine.handle(.path(Self.path()))
    for link in Int32(10)..<10_000 { _ = machine.handle(Self.advertised(Self.portal, over: link)) }
    _ = machine.handle(Self.advertised(Self.portal, over: 2))
    #expect(machine.portal == Self.portal)
  }
}
