import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop

/// The 64-bit counters of links, read from the kernel on request. Needs no privilege.
///
/// The kernel responds within the send, so the calls do not wait, except for other changes to the network that hold the
/// kernel's lock.
package final class LinkCounters {
  struct Bytes: Hashable {
    let received: UInt64
    let sent: UInt64
    let packetsReceived: UInt64
    let packetsSent: UInt64
  }

  private let input: KernelInterface
  private let conversation: NetlinkRequestSocket
  private var request: NetlinkRequest

  /// Opens the socket. Throws a `SystemError` if the kernel refuses it.
  package init(of input: KernelInterface = .kernel) throws(SystemError) {
    self.input = input
    conversation = try NetlinkRequestSocket(
      .counters, of: input.transport, protocol: NETLINK_ROUTE,
      log: NetlinkDebugLog("counters") { "\(Self.bytes($0, $1) as Any)" }
    )
    request = try .counters()
  }

  /// Returns the counters of a link for a meter. Nil if the link does not exist, or the kernel does not have the counters.
  ///
  /// - Parameters:
  ///   - index: The index of the link.
  ///   - name: The name of the link.
  ///   - moment: The time of the sample, which is the same for all its links. Default: nil, now.
  package func sample(_ index: Int32, _ name: InterfaceName, at moment: EventTimestamp? = nil) -> TrafficMeter.Sample? {
    let moment = moment ?? input.moment(.sampling)
    guard let bytes = try? read(index) else { return nil }
    let traffic = LinkTraffic(
      kernelName: name, interfaceIndex: index, receivedBytes: bytes.received, sentBytes: bytes.sent)
    return TrafficMeter.Sample(
      traffic, at: .nanoseconds(moment.monotonic), suspendedTime: .nanoseconds(moment.suspended))
  }

  /// Reads the counters of a link. Nil if the link does not exist.
  ///
  /// - Throws: A `SystemError` if the request fails. A kernel before Linux 4.7 does not know the request, and the result is
  ///   nil.
  func read(_ index: Int32) throws(SystemError) -> Bytes? {
    request.setStatisticsIndex(index)
    var bytes: Bytes?
    try conversation.ask(&request) { frame, span in bytes = Self.bytes(frame, span) ?? bytes }.check("RTM_GETSTATS")
    return bytes
  }

  /// struct if_stats_msg: family, padding (3), index (4), filter (4).
  private static let headerLength = 12
  /// struct rtnl_link_stats64 begins with rx_packets, tx_packets, rx_bytes, tx_bytes.
  private static let (receivedOffset, sentOffset) = (16, 24)

  static func bytes(_ frame: NetlinkMessage, _ bytes: RawSpan) -> Bytes? {
    guard Int(frame.type) == RTM_NEWSTATS, frame.payload.count >= headerLength else { return nil }
    let attributes = (frame.payload.lowerBound + headerLength)..<frame.payload.upperBound
    guard let counters = bytes.attribute(IFLA_STATS_LINK_64, in: attributes), counters.count >= sentOffset + 8 else {
      return nil
    }
    return Bytes(
      received: bytes.load(counters.lowerBound + receivedOffset, as: UInt64.self),
      sent: bytes.load(counters.lowerBound + sentOffset, as: UInt64.self),
      packetsReceived: bytes.load(counters.lowerBound, as: UInt64.self),
      packetsSent: bytes.load(counters.lowerBound + 8, as: UInt64.self))
  }
}
