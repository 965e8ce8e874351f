import Foundation
import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// netwatch's decoder and libnl read the same in each message.
@Suite struct LibnlOracleTests {
  @Test func `libnl reads the messages of the corpus as we do`() throws {
    for message in Corpus.all { try compare(message) }
  }

  @Test func `libnl reads the traces as we do`() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let traces = try FileManager.default.contentsOfDirectory(
      at: folder.appending(path: "Traces"), includingPropertiesForKeys: nil
    ).filter { $0.pathExtension == "trace" }
    #expect(!traces.isEmpty)
    for trace in traces {
      let reader = try TraceReader(opening: trace.path)
      while let record = try reader.next() {
        guard case .datagram(let channel, let bytes) = record, Self.channels.contains(channel) else { continue }
        try compare(bytes)
      }
    }
  }

  @Test func `libnl reads the other end of a tunnel as we do`() throws {
    for remote in LinkInfoDecodingTests.remotes {
      for isElsewhere in [false, true] {
        let data = [(type: remote.type, value: remote.address.networkOrder)]
        try compare(LinkInfoDecodingTests.message(remote.kind, elsewhere: isElsewhere, lower: 9, data))
      }
    }
  }

  @Test func `libnl reads any number in a message as we do`() throws {
    var random = SplitMix(seed: 49)
    var count = 0
    for _ in 0..<FuzzRounds.count(default: 2_000) {
      var message = Corpus.all[Int.random(in: Corpus.all.indices, using: &random)]
      guard let frame = LibnlOracle.ours(message).first?.frame, frame.kind == .payload else { continue }
      for _ in 0..<3 {
        guard let place = LibnlOracle.numbers(of: frame, in: message).randomElement(using: &random) else { continue }
        message[place] = [0, 1, 127, 255, .random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
      }
      // libnl refuses some values. Such messages are not compared.
      guard (try? LibnlOracle.readings(message)) != nil else { continue }
      count += 1
      try compare(message)
    }
    #expect(count > 0)
  }

  @Test(arguments: LibnlOracle.gaps)
  func `what libnl does not read is as the kernel's headers have it`(_ gap: LibnlOracle.Gap) throws {
    let reading = try #require(LibnlOracle.ours(gap.bytes).first)
    #expect(reading.asAnswer == gap.answer)
    #expect(reading.counters == gap.counters)
    try compare(gap.bytes)
  }

  @Test func `libnl reads what the kernel sends as we do`() throws {
    let live = try LiveMessages(Self.script)
    var seen: Set<String> = []
    for datagram in live.datagrams {
      try compare(datagram)
      for reading in LibnlOracle.ours(datagram) { seen.formUnion(Self.features(of: reading)) }
    }
    #expect(Self.expected.subtracting(seen) == [])
    // A kernel may lack a kind of link.
    let failures = live.failures.filter {
      $0.hasPrefix("failed: ") && !$0.hasPrefix("failed: ip link add ") && !$0.hasPrefix("failed: ip tuntap ")
    }
    #expect(failures == [], "\(live.failures)")
  }

  /// The sockets of rtnetlink.
  private static let channels: Set<NetlinkTransport.Channel> = [.event, .reply, .counters]

  /// Compares what both decoders read in a datagram, and fails at the first message that they read differently.
  private func compare(_ datagram: [UInt8]) throws {
    let ours = LibnlOracle.ours(datagram)
    let theirs = try LibnlOracle.readings(datagram)
    if let (our, their) = zip(ours, theirs).first(where: { $0 != $1 }) {
      let bytes = SmallTrace.hex(Array(datagram[our.frame.record]))
      throw TestFailure("netwatch reads \(our), libnl reads \(their): \(bytes)")
    }
    guard ours.count == theirs.count else { throw TestFailure("\(ours.count) and \(theirs.count) messages") }
  }

  // MARK: The kernel

  /// The features that messages of each kernel must have.
  private static let expected: Set = [
    "link", "kind veth", "kind bridge", "upper device", "lower device", "link of another namespace", "link removed",
    "address", "deprecated address", "address removed", "routes changed", "routes removed", "hop", "gateway", "source",
    "metric", "lifetime", "table", "hops", "own", "refused", "object of a route", "next hop", "group", "black hole",
    "rule", "inverted", "suppressed", "users", "mark", "other selectors", "no table", "neighbour reachable",
    "neighbour stale", "neighbour failed", "neighbour permanent", "neighbour incomplete", "hardware address",
    "counters",
  ]

  private static func features(of reading: LibnlOracle.Reading) -> [String] {
    var found: [String: Bool] = [
      "counters": reading.counters != nil, "hardware address": reading.hardwareAddress != nil,
    ]
    if let state = reading.neighbourState { found["neighbour \(state)"] = true }
    for message in [reading.asNotification, reading.asAnswer] {
      switch message {
      case .event(.link(let fact)):
        found["link"] = true
        if let kind = fact.kind { found["kind \(kind)"] = true }
        found["upper device"] = fact.masterIndex != nil
        found["lower device"] = fact.lowerIndex != nil
        found["link of another namespace"] = fact.isCarriedElsewhere
      case .event(.linkRemoved): found["link removed"] = true
      case .event(.address(_, let address)):
        found["address"] = true
        found["deprecated address"] = address.isDeprecated
      case .event(.addressRemoved): found["address removed"] = true
      case .event(.routing(_, let isRemoval)): found[isRemoval ? "routes removed" : "routes changed"] = true
      case .route(.hop(let hop)):
        found["hop"] = true
        found["gateway"] = hop.gateway != nil
        found["source"] = hop.source != nil
        found["metric"] = hop.metric != 0
        found["lifetime"] = hop.lifetime != 0
        found["table"] = hop.table > 255
      case .route(.hops): found["hops"] = true
      case .route(.own): found["own"] = true
      case .route(.refused): found["refused"] = true
      case .routeOverNextHop: found["object of a route"] = true
      case .nextHop(let object):
        found["next hop"] = true
        found["group"] = !object.members.isEmpty
        found["black hole"] = object.isBlackhole
      case .rule(let rule):
        found["rule"] = true
        found["inverted"] = rule.isInverted
        found["suppressed"] = rule.suppressedPrefixLength != nil
        found["users"] = rule.users != nil
        found["mark"] = rule.mark != 0
        found["other selectors"] = rule.hasOtherSelectors
        found["no table"] = rule.table == nil
      default: break
      }
    }
    return found.filter(\.value).map(\.key)
  }

  /// The script that the probe `messages` runs, one command in each line.
  private static let script = """
    ip link set lo up
    ip link add v0 type veth peer name v1
    ip link set v1 up
    ip link set v0 up
    ip link add dummy0 type dummy
    ip link add br0 type bridge
    ip link set v1 master br0
    ip link set br0 up
    ip link add bond0 type bond
    ip link add v0.7 link v0 type vlan id 7
    ip link add mac0 link v0 type macvlan
    ip link add ipv0 link v0 type ipvlan
    ip link add vrf0 type vrf table 9
    ip link add ifb0 type ifb
    ip link add ipip0 type ipip remote 192.0.2.9 local 10.0.0.1
    ip link add sit1 type sit remote 192.0.2.9 local 10.0.0.1 dev v0
    ip link add gre1 type gre remote 192.0.2.9 local 10.0.0.1
    ip link add gretap1 type gretap remote 192.0.2.9 local 10.0.0.1
    ip link add ip6tnl1 type ip6tnl remote 2001:db8::9 local 2001:db8::1 dev v0
    ip link add ip6gre1 type ip6gre remote 2001:db8::9 local 2001:db8::1
    ip link add ip6gretap1 type ip6gretap remote 2001:db8::9 local 2001:db8::1
    ip link add vti1 type vti remote 192.0.2.9 local 10.0.0.1 key 3
    ip link add vti61 type vti6 remote 2001:db8::9 local 2001:db8::1 key 3
    ip link add erspan1 type erspan remote 192.0.2.9 local 10.0.0.1 seq key 30
    ip link add geneve0 type geneve id 5 remote 192.0.2.9
    ip link add wg0 type wireguard
    ip link add vx0 type vxlan id 1 remote 192.0.2.9 dstport 4789
    ip link add vx1 type vxlan id 2 remote 2001:db8::9 dev v0 dstport 4790
    ip link add vx2 type vxlan id 3 group 239.1.1.1 dev v0 dstport 4791
    ip link add vx3 type vxlan id 4 dstport 4792
    ip tuntap add tun0 mode tun
    ip tuntap add tap0 mode tap
    for link in vx0 vx1 vx2 mac0 tun0 tap0 ipip0 sit1 gre1 wg0 bond0; do ip link set $link up; done 2>/dev/null; true
    ip link set v0 name renamed0
    ip link set renamed0 name v0
    ip addr add 10.0.0.1/24 dev v0
    ip addr add 10.1.0.1 peer 10.1.0.9/24 dev v0
    ip addr add 169.254.3.4/16 scope link dev v0
    ip addr add 10.2.0.1/24 dev v0 valid_lft 100 preferred_lft 0
    ip addr add 10.0.0.5/24 dev v0 noprefixroute
    ip addr add 10.3.0.1/32 dev lo
    ip addr add 2001:db8:1::1/64 dev v0
    ip addr add 2001:db8:1::2/64 dev v0 nodad home mngtmpaddr
    ip addr add 2001:db8:1::3/64 dev v0 nodad valid_lft 1000 preferred_lft 0
    ip addr add 2001:db8:1::4 peer 2001:db8:2::1/64 dev v0 nodad
    ip addr add fd00::1/64 dev v0 nodad noprefixroute
    ip route add default via 10.0.0.2 src 10.0.0.5 metric 50
    ip route add default via 10.0.0.3 metric 60
    ip route add default via 10.0.0.4 dev v0 table 5000 proto dhcp
    ip route add 198.51.100.0/24 nexthop via 10.0.0.2 weight 3 nexthop via 10.1.0.7 nexthop dev v0
    ip route add 198.51.100.128/25 table 5000 nexthop via 10.0.0.2 nexthop via 10.1.0.7
    ip route add 198.51.100.9 via 203.0.113.1 dev v0 onlink
    ip route add 203.0.113.0/24 via inet6 fe80::9 dev v0
    ip route add 203.0.113.128/25 dev v0 mtu lock 1400 advmss 1300
    ip route add unreachable 192.0.2.16/28
    ip route add blackhole 192.0.2.32/28
    ip route add prohibit 192.0.2.48/28
    ip route add throw 192.0.2.64/28
    ip route add local 192.0.2.80/28 dev lo
    ip -6 route add default via fe80::1 dev v0 proto ra metric 100 expires 90 pref high
    ip -6 route add default via fe80::2 dev v0 proto static metric 200
    ip -6 route add 2001:db8:5::/48 nexthop via 2001:db8:1::7 nexthop via 2001:db8:1::8
    ip -6 route add 2001:db8:6::/48 via 2001:db8:1::7 src 2001:db8:1::2
    ip -6 route add unreachable 2001:db8:7::/48
    ip -6 route add blackhole 2001:db8:8::/48
    ip -6 route add prohibit 2001:db8:9::/48
    ip -6 route add throw 2001:db8:a::/48
    ip nexthop add id 1 via 10.0.0.2 dev v0
    ip nexthop add id 2 via 10.0.0.3 dev v0
    ip nexthop add id 3 dev v0
    ip nexthop add id 4 blackhole
    ip nexthop add id 5 group 1/2,3
    ip nexthop add id 6 via fe80::7 dev v0
    ip nexthop add id 7 via fe80::8 dev v0
    ip nexthop add id 8 group 6/7
    ip nexthop add id 9 fdb via 10.0.0.9
    ip route add 100.64.1.0/24 nhid 1
    ip route add 100.64.2.0/24 nhid 5
    ip route add 100.64.3.0/24 nhid 4
    ip route add 100.64.4.0/24 nhid 6
    ip -6 route add 2001:db8:b::/48 nhid 6
    ip -6 route add 2001:db8:c::/48 nhid 8
    ip -6 nexthop add id 10 blackhole
    ip -6 route add 2001:db8:d::/48 nhid 10
    ip rule add prio 100 from 10.1.0.0/16 iif v0 table 77
    ip rule add prio 101 ipproto tcp dport 443 table 78
    ip rule add prio 102 sport 1000-2000 table 78
    ip rule add prio 103 to 192.0.2.0/24 table 79
    ip rule add prio 104 oif v0 table 80
    ip rule add prio 105 tos 0x10 table 81
    ip rule add prio 106 fwmark 0x80000/0xff0000 table 100000
    ip rule add prio 107 not fwmark 51820 table 51820
    ip rule add prio 108 uidrange 0-0 table 82
    ip rule add prio 109 table main suppress_prefixlength 0
    ip rule add prio 110 table main suppress_ifgroup 5
    ip rule add prio 111 tun_id 7 table 83
    ip rule add prio 112 goto 32766
    ip rule add prio 113 fwmark 1 unreachable
    ip rule add prio 114 fwmark 2 blackhole
    ip rule add prio 115 fwmark 3 prohibit
    ip rule add prio 116 table 84 proto 77
    ip rule add prio 117 l3mdev
    ip -6 rule add prio 100 from 2001:db8::/32 table 85
    ip -6 rule add prio 101 not fwmark 0x5/0x7 table 86 suppress_prefixlength 16
    ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent
    ip neigh replace 10.0.0.3 lladdr 02:00:00:00:00:03 dev v0 nud reachable
    ip neigh replace 10.0.0.4 lladdr 02:00:00:00:00:04 dev v0 nud stale
    ip neigh replace 10.0.0.6 dev v0 nud failed
    ip neigh replace 10.0.0.7 lladdr 02:00:00:00:00:07 dev v0 nud noarp
    ip neigh replace 10.0.0.8 lladdr 02:00:00:00:00:08 dev v0 nud probe
    ip neigh replace 10.0.0.9 lladdr 02:00:00:00:00:09 dev v0 nud delay
    ip neigh replace 10.0.0.10 dev v0 nud incomplete
    ip neigh replace fe80::1 lladdr 02:00:00:00:00:02 dev v0 nud reachable
    ip neigh add proxy 10.0.0.77 dev v0
    ip neigh replace 10.0.0.11 lladdr 02:00:00:00:00:11 dev v0 nud permanent
    ip neigh del 10.0.0.11 dev v0
    bridge fdb add 02:00:00:00:00:05 dev vx0 dst 192.0.2.10; true
    lists
    way 192.0.2.1
    way 198.51.100.7
    way 198.51.100.9
    way 203.0.113.1
    way 203.0.113.129
    way 192.0.2.17
    way 192.0.2.33
    way 192.0.2.49
    way 192.0.2.65
    way 10.0.0.1
    way 10.0.0.255
    way 224.0.0.1
    way 100.64.1.1
    way 100.64.2.1
    way 100.64.3.1
    way 100.64.4.1
    way 2001:db8:77::1
    way 2001:db8:5::1
    way 2001:db8:6::1
    way 2001:db8:7::1
    way 2001:db8:8::1
    way 2001:db8:b::1
    way 2001:db8:c::1
    way 2001:db8:1::1
    way ff02::1
    echo 0 >/proc/sys/net/ipv4/nexthop_compat_mode
    lists
    way 100.64.1.1
    way 100.64.2.1
    way 2001:db8:b::1
    way 2001:db8:c::1
    for key in all default v0; do echo 1 >/proc/sys/net/ipv4/conf/$key/ignore_routes_with_linkdown; done
    echo 1 >/proc/sys/net/ipv6/conf/all/ignore_routes_with_linkdown
    echo 1 >/proc/sys/net/ipv4/ip_forward
    ip link set v1 down
    lists
    way 192.0.2.1
    ip link set v1 up
    ip link set v1 nomaster
    unshare --net sh -c "ip link add in0 type veth peer name out0 netns $PPID && nsenter --target $PPID --net ip link set out0 up"
    ip rule flush
    ip -6 rule del prio 101
    ip route flush table main; true
    ip -6 route flush proto ra
    ip nexthop flush
    ip addr flush dev v0
    for link in vx0 vx1 mac0 br0 tun0 v0; do ip link del $link; done; true
    lists
    """
}

/// The messages that the kernel sends while the probe runs a script in a network namespace.
private struct LiveMessages {
  private(set) var datagrams: [[UInt8]] = []
  let failures: [Substring]

  init(_ script: String) throws {
    try requireProgram("ip")
    let folder = try TemporaryFolder()
    try folder.write(script + "\n", to: "script")
    let files = [("script", O_RDONLY), ("messages", O_WRONLY | O_CREAT), ("failures", O_WRONLY | O_CREAT)]
    let descriptors = files.map { unsafe open(folder.file($0), $1 | O_CLOEXEC, 0o600) }
    defer { for descriptor in descriptors { close(descriptor) } }
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let tests = own.contains(".build") ? own : CommandLine.arguments.first { $0.contains(".build") } ?? own
    let probe = URL(filePath: tests).deletingLastPathComponent().appending(path: "NetwatchProbe").path
    let user = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
    let child = try ChildProcess.spawn(
      "/usr/bin/env", ["unshare"] + user + ["--net", probe, "messages"],
      descriptors: descriptors.enumerated().map { (ours: $1, its: CInt($0)) })
    let ending = ChildProcess.waitForEnd(of: child)
    failures = folder.text(of: "failures").split(separator: "\n")
    guard ending == .exited(0) else { throw TestFailure("\(failures)") }
    for line in folder.text(of: "messages").split(separator: "\n") {
      guard case .datagram(_, let bytes) = TraceFormat.record(Array(line.utf8)[...]) else {
        throw TestFailure("\(line)")
      }
      datagrams.append(bytes)
    }
  }
}
