import CLibNetlink
import Netwatch
import NetwatchEventLoop

/// The 64-bit counters of links, read from the kernel when somebody asks. Needs no privilege.
///
/// The kernel answers within the send, so nothing here waits, but for other changes to the network that hold its lock.
package final class LinkCounters {
  struct Bytes: Hashable {
    let received: UInt64
    let sent: UInt64
    let packetsReceived: UInt64
    let packetsSent: UInt64
  }

  private let input: NetlinkInput
  private let conversation: NetlinkConversation
  private var request: NetlinkRequest

  package init(of input: NetlinkInput = .kernel) throws(NetlinkError) {
    self.input = input
    conversation = try NetlinkConversation(
      .counters, of: input, protocol: NETLINK_ROUTE, log: NetlinkDebugLog("counters") { "\(Self.bytes($0, $1) as Any)" }
    )
    request = try .counters()
  }

  /// What a meter needs to know of a link now; nil for one that is not there, and where the kernel does not tell.
  ///
  /// - Parameter moment: when the question is put, for all links of a sample alike. Nil: now.
  package func sample(_ index: Int32, _ name: InterfaceName, at moment: Moment? = nil) -> TrafficMeter.Sample? {
    let moment = moment ?? input.moment(.sampling)
    guard let bytes = try? read(index) else { return nil }
    let traffic = LinkTraffic(
      kernelName: name, interfaceIndex: index, receivedBytes: bytes.received, sentBytes: bytes.sent)
    return TrafficMeter.Sample(
      traffic, at: .nanoseconds(moment.monotonic), suspendedTime: .nanoseconds(moment.suspended))
  }

  /// Nil for a link that is not there.
  ///
  /// - Throws: what prevents the question. A kernel before Linux 4.7 does not know it, and answers with nothing.
  func read(_ index: Int32) throws(NetlinkError) -> Bytes? {
    request.setStatisticsIndex(index)
    var bytes: Bytes?
    try conversation.ask(&request) { frame, span in bytes = Self.bytes(frame, span) ?? bytes }.check("RTM_GETSTATS")
    return bytes
  }

  /// struct if_stats_msg: family, padding (3), index (4), filter (4).
  private static let headerLength = 12
  /// struct rtnl_link_stats64 begins with rx_packets, tx_packets, rx_bytes, tx_bytes.
  private static let (receivedOffset, sentOffset) = (16, 24)

  static func bytes(_ frame: NetlinkFrame, _ bytes: RawSpan) -> Bytes? {
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
