import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Counts whether datagrams of requests are in flight, by running a ``DatagramActivity`` on the kernel's data. It samples
/// counters while the count is wanted, and lists UDP sockets while datagrams flow.
///
/// The counter belongs to the thread of its loop.
package final class DatagramCounter {
  /// The time between two samples. A download shows 1.0 to 1.6 s after its begin, because two samples may be needed to see it.
  private static let interval = Duration.milliseconds(250)
  /// The longest time of one search of /proc for the programs of sockets.
  private static let searchTime = Duration.milliseconds(2)
  /// The ports whose datagrams are not requests: DNS, DHCP, NTP, NetBIOS, SNMP, IKE, syslog, DHCPv6, DNS over TLS or QUIC,
  /// OpenVPN, SSDP, WS-Discovery, STUN, IPsec, VXLAN, mDNS, LLMNR, Geneve, Tailscale, WireGuard.
  private static let ports: Set<UInt16> = [
    53, 67, 68, 123, 137, 138, 161, 162, 500, 514, 546, 547, 853, 1194, 1900, 3702, 3478, 4500, 4789, 5353, 5355, 6081,
    41_641, 51_820,
  ]

  private let path: () -> NetworkPath?
  private let changed: (ConnectionActivity.Change) -> Void
  private let failed: (any Error) -> Void
  private let exclusions: [ConnectionExclusion]
  private let ignoredPrograms: Set<String>
  private let conversation: NetlinkRequestSocket
  private var requests: [NetlinkRequest]
  private let counters: LinkCounters
  private let owners = SocketOwners()
  private var activity = DatagramActivity()
  private var isWatched = false
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in sample() }
  private let loop: EventLoop

  /// Creates a counter that does not sample yet.
  ///
  /// - Parameters:
  ///   - exclusions: The connections that do not count.
  ///   - path: The closure that returns the current path; nil while it is not known.
  ///   - changed: The closure that is called when the number in flight changes.
  ///   - failed: The closure that is called when the kernel or /proc refuses. Nothing is counted any more.
  /// - Throws: A `SystemError` if the sockets cannot be opened.
  package init(
    _ exclusions: [ConnectionExclusion], on loop: EventLoop, path: @escaping () -> NetworkPath?,
    changed: @escaping (ConnectionActivity.Change) -> Void, failed: @escaping (any Error) -> Void
  ) throws(SystemError) {
    self.loop = loop
    self.path = path
    self.changed = changed
    self.failed = failed
    self.exclusions = exclusions
    ignoredPrograms = ConnectionExclusion.programs(exclusions)
    conversation = try NetlinkRequestSocket(
      .reply, of: .kernel, protocol: NETLINK_SOCK_DIAG,
      log: NetlinkDebugLog("udp") { "\(ConnectionDecoder.datagramSocket($0, $1) as Any)" })
    requests = [try .connectedDatagramSockets(AF_INET), try .connectedDatagramSockets(AF_INET6)]
    counters = try LinkCounters()
  }

  /// Starts to sample. Two samples are needed to detect a flow.
  package func watch() {
    if isWatched { return }
    isWatched = true
    sample()
  }

  /// Stops sampling. Nothing wakes the thread any more.
  package func rest() {
    isWatched = false
    timer.stop()
    if let change = activity.forget(at: loop.now) { changed(change) }
  }

  private func sample() {
    guard let sample = read() else {
      rest()
      return failed(PlainError("/proc/net/snmp cannot be read"))
    }
    let now = loop.now
    timer.set(forNextTickEvery: Self.interval)
    do throws(SystemError) {
      let isFlowing = activity.measure(sample, at: now) ? try hasSocket() : false
      if let change = activity.conclude(isFlowing, at: now) { changed(change) }
    } catch {
      if error.isTransient { return }
      rest()
      failed(error)
    }
  }

  /// Reads the counters. Nil if /proc does not have them.
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

  /// Returns whether a program holds a socket for what flows: one that is connected to another machine, at a port that is not
  /// for names, clocks or tunnels.
  private func hasSocket() throws(SystemError) -> Bool {
    var inodes: [UInt32] = []
    for place in requests.indices {
      let reply = try conversation.ask(&requests[place]) { frame, bytes in
        if let socket = ConnectionDecoder.datagramSocket(frame, bytes), counts(socket) {
          inodes.append(socket.facts.inode)
        }
      }
      // A kernel without udp_diag refuses both requests. A kernel without IPv6 refuses only the second.
      if reply.error != 0, !reply.isRefusedForNow, place == 0 {
        throw SystemError.netlink("sock_diag", reply.error)
      }
    }
    if ignoredPrograms.isEmpty || inodes.isEmpty { return !inodes.isEmpty }
    owners.find(inodes, within: Self.searchTime)
    return inodes.contains { inode in
      switch owners.owner(of: inode) {
      case .process(let process): !ignoredPrograms.contains(process.name)
      case .unknown: true
      // The search continues at the next sample.
      case nil: false
      }
    }
  }

  private func counts(_ socket: ConnectionDecoder.Connection) -> Bool {
    socket.facts.inode != 0 && !socket.isLocal && !socket.remote.isMulticast && !Self.ports.contains(socket.remotePort)
      && !exclusions.contains { $0.covers(socket) }
  }
}
