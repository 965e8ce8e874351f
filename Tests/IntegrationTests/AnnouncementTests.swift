import Foundation
import NetwatchTestSupport
import Testing

/// What networks say about themselves: `--announced` and the library, with advertisements that the kernel handles.
@Suite struct AnnouncementTests {
  private static let portal = "https://portal.example/api"

  /// The URI of the portal in a line; nil if the line has none, empty if it is null.
  private func portal(_ line: Line) -> String? {
    let value = (line.object["reachability"] as? [String: Any])?["portal_api"]
    return value is NSNull ? "" : value as? String
  }

  /// Reads lines until one has this URI.
  private func line(of follow: Follow, with uri: String) throws -> Line {
    while true {
      let line = try follow.next()
      if portal(line) == uri { return line }
    }
  }

  @Test func `a login page that a router advertises is in the line, until the link leaves the network`() throws {
    let networks = try TwoNetworks()
    let follow = try networks.near.follow("--no-service", "--announced")
    let quiet = try networks.near.follow("--no-service")
    #expect(try portal(follow.next()) == "")
    try networks.far.advertise(from: "v1", lifetime: 600, portal: Self.portal)
    let told = try line(of: follow, with: Self.portal)
    #expect(["announcement_changed", "address_changed"].contains(told.reason))
    // What is no web address is no portal, and the same again is no news.
    try networks.far.advertise(from: "v1", lifetime: 600, portal: Self.portal)
    try networks.far.advertise(from: "v1", lifetime: 600, portal: "javascript:alert(1)")
    try networks.far.advertise(from: "v1", lifetime: 600, portal: "https://a b/")
    try networks.far.advertise(from: "v1", lifetime: 600, portal: "urn:ietf:params:capport:unrestricted")
    let free = try line(of: follow, with: "urn:ietf:params:capport:unrestricted")
    #expect(free.reason == "announcement_changed")
    #expect(follow.lines.count { $0.reason == "announcement_changed" } <= 2)
    try networks.far.run("ip link set v1 down")
    while try follow.next().status != "not-reachable" {}
    #expect(portal(follow.lines[follow.lines.count - 1]) == "")
    try networks.far.run("ip link set v1 up")
    var back = try follow.next()
    while back.status != "wifi" { back = try follow.next() }
    #expect(portal(back) == "")
    // Who has not asked hears nothing.
    while try quiet.next().status != "not-reachable" {}
    #expect(quiet.lines.allSatisfy { portal($0) == nil && $0.reason != "announcement_changed" })
  }

  @Test func `another link's login page is not that of the path`() throws {
    let networks = try TwoNetworks()
    let other = try NetworkNamespace(beside: networks.near)
    try networks.near.configure("link add w0 type veth peer name w1 netns \(other.pid)", "link set w0 up")
    try other.configure("link set w1 up")
    let follow = try networks.near.follow("--no-service", "--announced")
    #expect(try portal(follow.next()) == "")
    try networks.near.waitUntilRunning("w0")
    try other.advertise(from: "w1", lifetime: 0, portal: "https://other.example/")
    try networks.far.advertise(from: "v1", lifetime: 600, portal: Self.portal)
    _ = try line(of: follow, with: Self.portal)
    #expect(follow.lines.allSatisfy { portal($0) != "https://other.example/" })
  }

  @Test func `the library has it in the path, and text says it`() throws {
    let networks = try TwoNetworks()
    let probe = try ChildProcess(networks.near.command([Programs.probe, "announcements"]))
    #expect(try probe.nextLine() == "initial -")
    let text = try networks.near.netwatch("--follow", "--no-service", "--announced", "--format", "text")
    _ = try text.nextLine()
    try networks.far.advertise(from: "v1", lifetime: 600, portal: Self.portal, options: "server=fd00::2")
    while let line = try probe.nextLine(), !line.hasSuffix(" \(Self.portal)") {}
    while let line = try text.nextLine(), !line.contains("portal API \(Self.portal), name server fd00::2") {}
  }

  // MARK: Leases

  /// Asks for an address as dhclient's own script does, and nothing else.
  private static let script = """
    #!/bin/sh
    case $reason in
      BOUND | REBOOT | RENEW | REBIND)
        ip addr replace "$new_ip_address/24" dev "$interface"
        ip route replace default via 10.0.0.2 ;;
    esac
    """

  /// The shell's words that ask for a lease with each client, in the folders of /var/lib. `ask -x` gives it back, if the client can.
  private static func asking(_ client: String, _ folder: TemporaryFolder) -> String {
    switch client {
    case "dhclient":
      """
      mkdir /var/lib/dhcp && chmod +x '\(folder.file("script"))'
      ask() { dhclient -1 -4 "$@" -cf '\(folder.file("dhclient.conf"))' -sf '\(folder.file("script"))' \
        -pf '\(folder.file("client.pid"))' -lf /var/lib/dhcp/dhclient.leases v0 >&2; }
      """
    default:
      """
      mkdir /var/lib/dhcpcd && mount -t tmpfs none /run
      ask() { [ "$1" = -x ] || dhcpcd -4 -1 -f '\(folder.file("dhcpcd.conf"))' -c /bin/true v0 >&2; }
      """
    }
  }

  @Test(arguments: ["dhclient", "dhcpcd"])
  func `a login page that the DHCP server names is in the line, and a renewal may change it`(_ program: String) throws {
    for program in [program, "dnsmasq"] { try requireProgram(program) }
    let networks = try TwoNetworks()
    try networks.near.configure("route del default", "addr del 10.0.0.1/24 dev v0")
    let folder = try TemporaryFolder()
    try folder.write(Self.script, to: "script")
    try folder.write("request subnet-mask, routers, default-url;\n", to: "dhclient.conf")
    // dhcpcd knows the option by itself since version 10.
    try folder.write(
      "define 114 string captive_portal_uri\noption subnet_mask, routers, captive_portal_uri\nnoarp\n",
      to: "dhcpcd.conf")
    func server(_ uri: String) throws -> ChildProcess {
      let server = try ChildProcess(
        networks.far.command([
          "dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--pid-file=", "--port=0", "--user=root", "--group=root",
          "--interface=v1", "--bind-interfaces", "--dhcp-authoritative", "--dhcp-range=10.0.0.50,10.0.0.60,2m",
          "--dhcp-leasefile=\(folder.file("server"))", "--dhcp-option=114,\(uri)",
        ]))
      try networks.far.run("until ss -Hlun | grep -q :67; do sleep 0.02; done")
      return server
    }
    let first = try server(Self.portal)
    // The client and netwatch see a /var/lib of their own.
    let client = try networks.start(
      "unshare", "--mount", "bash", "-c",
      """
      mount -t tmpfs none /var/lib
      \(Self.asking(program, folder))
      '\(Programs.netwatch)' --follow --json --no-service --announced &
      ask; read _; ask -x; ask; read _; ask -x; kill %1
      """)
    func line(with uri: String) throws -> Line {
      while let text = try client.nextLine() {
        let line = try Line(text)
        if portal(line) == uri { return line }
      }
      throw TestFailure("no line has \(uri): \(try client.errorText())")
    }
    let told = try line(with: Self.portal)
    #expect(told.status == "wifi")
    first.signal(SIGTERM)
    _ = try first.wait()
    let second = try server("https://other.example/")
    client.write("\n")
    let changed = try line(with: "https://other.example/")
    #expect(changed.reason == "announcement_changed")
    client.write("\n")
    _ = try client.wait()
    withExtendedLifetime(second) {}
  }
}
