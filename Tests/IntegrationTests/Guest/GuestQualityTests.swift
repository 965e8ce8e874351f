import Foundation
import Glibc
import NetwatchTestSupport
import Testing

extension GuestTests {
  /// Tests of the figures of `--quality` over slow links that lose packets, beside the figures of ping and of the link
  /// itself.
  @Suite struct Quality {
    private struct Link: CustomTestStringConvertible {
      /// The delay of outgoing packets, in milliseconds.
      let delay: Int
      /// The loss of outgoing packets, in per cent.
      let loss: Int

      var netem: String { "netem delay \(delay)ms limit 10000" + (loss > 0 ? " loss \(loss)%" : "") }
      var testDescription: String { "\(delay) ms, \(loss) %" }
    }

    /// Whether every kind of link is tried, which takes eight minutes, and not only a few kinds.
    private static let triesAll = ProcessInfo.processInfo.environment["NETWATCH_ALL_LINKS"] != nil

    private static let links =
      triesAll
      ? [20, 80, 300].flatMap { delay in [0, 1, 5].map { Link(delay: delay, loss: $0) } }
      : [Link(delay: 20, loss: 0), Link(delay: 80, loss: 5), Link(delay: 300, loss: 1)]

    private static let worseLinks =
      [Link(delay: 80, loss: 0)] + (triesAll ? [Link(delay: 20, loss: 5), Link(delay: 300, loss: 1)] : [])

    /// Returns two networks whose link delays and loses outgoing packets one by one. A real link loses no packets of 64
    /// KB, so they are split before.
    private static func networks(_ link: Link) throws -> TwoNetworks {
      let networks = try TwoNetworks()
      try networks.near.run("ip link set v0 gso_max_segs 1", "tc qdisc add dev v0 root \(link.netem)")
      return networks
    }

    /// Returns how many of its outgoing packets the link has lost, in per cent.
    private static func dropped(_ networks: TwoNetworks) throws -> Double {
      let answer = try ChildProcess.run(networks.near.command(["tc", "-s", "qdisc", "show", "dev", "v0"]))
      let numbers = try #require(answer.output.joined().firstMatch(of: /([0-9]+) pkt \(dropped ([0-9]+)/))
      let (sent, lost) = (Double(numbers.output.1) ?? 0, Double(numbers.output.2) ?? 0)
      return 100 * lost / max(sent + lost, 1)
    }

    @Test(arguments: links)
    private func `time and loss are right`(_ link: Link) throws {
      let networks = try Self.networks(link)
      let sink = try networks.sink()
      let ping = try networks.start(Programs.probe, "ping", "10.0.0.2")
      let follow = try networks.near.follow("--no-service", "--quality")
      _ = try follow.next()
      let senders = try networks.senders(5, bytesPerSecond: 120_000)
      #expect(try senders.nextLine(within: 200) == "sent")
      // netwatch reports a small difference only after 7 seconds.
      sleep(UInt32(20 * patience))
      let dropped = try Self.dropped(networks)
      for process in [follow.process, ping] { process.signal(SIGTERM) }
      var quality: LineQuality?
      while let line = try? follow.next() { quality = line.quality }
      let told = try #require(quality)
      var times: [Double] = []
      while let time = try ping.nextLine() { times.append((Double(time) ?? 0) / 1_000) }
      // The median of the last ten seconds, in which ping has sent 100 requests.
      let time = try #require(times.suffix(100).sorted().dropFirst(min(times.count, 100) / 2).first)
      print(
        "quality at \(link.testDescription): \(told) in \(follow.lines.count) lines; ping \(time) ms, netem \(dropped) %"
      )
      #expect(told.connections == 5)
      #expect(abs((told.roundTrip ?? .infinity) - time) <= time / 10 + 2, "ping \(time) ms, \(told)")
      // netem drops packets by chance, so the loss differs a little from what was asked for.
      #expect(abs((told.loss ?? .infinity) - dropped) <= 0.5, "\(dropped) % dropped, \(told)")
      withExtendedLifetime((sink, senders)) {}
    }

    @Test(arguments: worseLinks)
    private func `a link that degrades is told within ten seconds`(_ link: Link) throws {
      let networks = try Self.networks(Link(delay: 20, loss: 0))
      let sink = try networks.sink()
      let follow = try networks.near.follow("--no-service", "--quality")
      let senders = try networks.senders(5, bytesPerSecond: 120_000)
      #expect(try senders.nextLine(within: 200) == "sent")
      var line = try follow.next()
      while line.quality?.loss != 0 || line.quality?.roundTrip ?? 0 < 20 { line = try follow.next() }
      // After this wait, most of the last minute has good figures.
      sleep(UInt32(20 * patience))
      let start = Line.monotonicNow
      try networks.near.run("tc qdisc change dev v0 root \(link.netem)")
      func isTold(_ quality: LineQuality) -> Bool {
        quality.roundTrip ?? 0 > Double(link.delay) * 0.8 && quality.loss ?? 0 >= Double(link.loss) / 2
      }
      while line.monotonicNanoseconds ?? 0 < start || line.quality.map(isTold) != true { line = try follow.next() }
      let seconds = Double((line.monotonicNanoseconds ?? 0) - start) / 1e9
      print("quality told to be \(link.testDescription) after \(seconds) s: \(line.quality?.description ?? "-")")
      #expect(seconds < 10 * patience)
      withExtendedLifetime((sink, senders)) {}
    }

    @Test func `through a VPN, the connections in the tunnel count`() throws {
      let networks = try Self.networks(Link(delay: 40, loss: 0))
      let folder = try TemporaryFolder()
      try networks.far.run(
        "cd \(folder.path); umask 077; for key in a b; do wg genkey > $key; wg pubkey < $key > $key.pub; done",
        "ip link add wg1 type wireguard",
        "wg set wg1 private-key \(folder.path)/b listen-port 51821 peer $(cat \(folder.path)/a.pub) allowed-ips 10.66.0.2/32",
        "ip addr add 10.66.0.1/24 dev wg1", "ip link set wg1 up")
      try networks.near.run(
        "ip link add wg0 type wireguard",
        "wg set wg0 private-key \(folder.path)/a fwmark 51820 peer $(cat \(folder.path)/b.pub) endpoint 10.0.0.2:51821 "
          + "allowed-ips 0.0.0.0/0 persistent-keepalive 1",
        "ip addr add 10.66.0.2/24 dev wg0", "ip link set wg0 up", "ip route add default dev wg0 table 51820",
        "ip rule add not fwmark 51820 table 51820", "ip rule add table main suppress_prefixlength 0",
        "until wg show wg0 latest-handshakes | grep -q '[1-9][0-9]*$'; do sleep 0.05; done")
      let sink = try networks.sink()
      // These connections do not go through the tunnel.
      let others = try networks.senders(4)
      let senders = try networks.senders(3, to: "10.66.0.1")
      let follow = try networks.near.follow("--no-service", "--quality")
      #expect(try follow.next().tunnel == "wg0 known")
      var quality: LineQuality?
      while quality?.loss == nil || quality?.roundTrip == nil { quality = try follow.next().quality }
      #expect(quality?.interface == "v0")
      #expect(quality?.connections == 3)
      // The first packets of a connection may wait, because the kernel is busy with the new connection.
      #expect(39...60 ~= quality?.roundTrip ?? 0, "\(quality?.description ?? "-")")
      withExtendedLifetime((sink, others, senders)) {}
    }
  }
}
