import CLibNetlink
import Glibc
import Netwatch
import NetwatchEventLoop

/// Runs a ``DatagramActivity`` on the kernel: samples counters while somebody watches, and looks at sockets of UDP while
/// datagrams flow.
///
/// Belongs to its loop.
package final class DatagramCounter {
  /// A download shows 1.0 to 1.6 s after its begin: two samples may be needed to see it.
  private static let interval = Duration.milliseconds(250)
  /// /proc is searched for so long for the programs of sockets.
  private static let searchTime = Duration.milliseconds(2)
  /// What goes to these ports is no request: DNS, DHCP, NTP, NetBIOS, SNMP, IKE, syslog, DHCPv6, DNS over TLS or QUIC, OpenVPN, SSDP,
  /// WS-Discovery, STUN, IPsec, VXLAN, mDNS, LLMNR, Geneve, Tailscale, WireGuard.
  private static let ports: Set<UInt16> = [
    53, 67, 68, 123, 137, 138, 161, 162, 500, 514, 546, 547, 853, 1194, 1900, 3702, 3478, 4500, 4789, 5353, 5355, 6081,
    41_641, 51_820,
  ]

  private let path: () -> NetworkPath?
  private let changed: (ConnectionActivity.Change) -> Void
  private let failed: (any Error) -> Void
  private let exclusions: [ConnectionExclusion]
  private let ignoredPrograms: Set<String>
  private let conversation: NetlinkConversation
  private var requests: [NetlinkRequest]
  private let counters: LinkCounters
  private let owners = SocketOwners()
  private var activity = DatagramActivity()
  private var isWatched = false
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in sample() }
  private let loop: EventLoop

  /// - Parameters:
  ///   - path: which links there are, and which one carries the traffic; nil while that is not known.
  ///   - changed: is called when another number is in flight.
  ///   - failed: is called when the kernel does not tell. Nothing is counted any more.
  package init(
    _ exclusions: [ConnectionExclusion], on loop: EventLoop, path: @escaping () -> NetworkPath?,
    changed: @escaping (ConnectionActivity.Change) -> Void, failed: @escaping (any Error) -> Void
  ) throws(NetlinkError) {
    self.loop = loop
    self.path = path
    self.changed = changed
    self.failed = failed
    self.exclusions = exclusions
    ignoredPrograms = ConnectionExclusion.programs(exclusions)
    conversation = try NetlinkConversation(
      .reply, of: .kernel, protocol: NETLINK_SOCK_DIAG,
      log: NetlinkDebugLog("udp") { "\(ConnectionDecoder.datagramSocket($0, $1) as Any)" })
    requests = [try .connectedDatagramSockets(AF_INET), try .connectedDatagramSockets(AF_INET6)]
    counters = try LinkCounters()
  }

  /// Begins to sample. Two samples are needed to see anything.
  package func watch() {
    if isWatched { return }
    isWatched = true
    sample()
  }

  /// Nobody wants to know any more: nothing wakes us.
  package func rest() {
    isWatched = false
    timer.stop()
    if let change = activity.forget(at: KernelClock.monotonic.now) { changed(change) }
  }

  private func sample() {
    guard let sample = read() else {
      rest()
      return failed(PlainError("/proc/net/snmp cannot be read"))
    }
    let now = KernelClock.monotonic.now
    timer.set(forNextTickEvery: Self.interval)
    do throws(NetlinkError) {
      let isFlowing = activity.measure(sample, at: now) ? try hasSocket() : false
      if let change = activity.conclude(isFlowing, at: now) { changed(change) }
    } catch {
      if error.isTransient { return }
      rest()
      failed(error)
    }
  }

  /// Nil where /proc does not tell.
  private func read() -> DatagramActivity.Counters? {
    guard let totals = DatagramTotals.now else { return nil }
    var sample = DatagramActivity.Counters()
    (sample.received.datagrams, sample.sent.datagrams) = (totals.received, totals.sent)
    guard let path = path() else { return sample }
    if let index = path.interfaceIndex, let link = try? counters.read(index) {
      sample.link = index
      (sample.received.linkBytes, sample.sent.linkBytes) = (link.received, link.sent)
    }
    for link in path.links where link.role.tunnelKind != nil {
      guard let tunnel = try? counters.read(link.index) else { continue }
      sample.tunnels.append(link.index)
      sample.received.tunnelPackets &+= tunnel.packetsReceived
      sample.sent.tunnelPackets &+= tunnel.packetsSent
    }
    return sample
  }

  // MARK: Sockets

  /// Whether a program holds a socket for what flows: one that has another machine as its only other end, at no port of names,
  /// clocks or tunnels.
  private func hasSocket() throws(NetlinkError) -> Bool {
    var inodes: [UInt32] = []
    for place in requests.indices {
      let reply = try conversation.ask(&requests[place]) { frame, bytes in
        if let socket = ConnectionDecoder.datagramSocket(frame, bytes), counts(socket) {
          inodes.append(socket.facts.inode)
        }
      }
      // Without udp_diag the kernel knows no answer, without IPv6 it knows none of that.
      if reply.error != 0, !reply.isRefusedForNow, place == 0 {
        throw NetlinkError(operation: "sock_diag", code: reply.error)
      }
    }
    if ignoredPrograms.isEmpty || inodes.isEmpty { return !inodes.isEmpty }
    owners.find(inodes, within: Self.searchTime)
    return inodes.contains { inode in
      switch owners.owner(of: inode) {
      case .program(let name): !ignoredPrograms.contains(name)
      case .unknown: true
      // The search goes on at the next sample.
      case nil: false
      }
    }
  }

  private func counts(_ socket: ConnectionDecoder.Connection) -> Bool {
    socket.facts.inode != 0 && !socket.isLocal && !socket.remote.isMulticast && !Self.ports.contains(socket.remotePort)
      && !exclusions.contains { $0.covers(socket) }
  }
}
