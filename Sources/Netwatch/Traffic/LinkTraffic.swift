/// The bytes that a link has carried, and its current rates.
public struct LinkTraffic: Hashable, Sendable {
  /// The name of the link as the bytes that the kernel uses.
  package let kernelName: InterfaceName
  /// The index of the link in the kernel's table.
  public let interfaceIndex: Int32
  /// The bytes that the link has received since its counter began, which is when its driver was loaded.
  public package(set) var receivedBytes: UInt64
  /// The bytes that the link has sent since its counter began, which is when its driver was loaded.
  public package(set) var sentBytes: UInt64
  /// The received bits per second since the last sample.
  ///
  /// Nil if the rate is not known: at the first sample of a link, after its counter began anew, and after a suspend.
  public package(set) var receivedBitsPerSecond: UInt64?
  /// The sent bits per second since the last sample.
  ///
  /// Nil if the rate is not known: at the first sample of a link, after its counter began anew, and after a suspend.
  public package(set) var sentBitsPerSecond: UInt64?

  /// The traffic of each link if a path goes over several at once, whose bytes and rates are then sums. Otherwise empty.
  public private(set) var links: [LinkTraffic] = []
  /// Whether the link carries the path, and is not only listed beside those that do.
  package var carriesPath = true

  package init(kernelName: InterfaceName, interfaceIndex: Int32, receivedBytes: UInt64, sentBytes: UInt64) {
    self.kernelName = kernelName
    self.interfaceIndex = interfaceIndex
    self.receivedBytes = receivedBytes
    self.sentBytes = sentBytes
  }

  /// Creates the traffic of a path: that of the only link, or the sum over the links. The first of them is the link of the path. Nil
  /// without links. A rate is not known if that of some link is not.
  package init?(sumOf links: [LinkTraffic]) {
    guard var sum = links.first else { return nil }
    for link in links.dropFirst() {
      sum.receivedBytes = sum.receivedBytes.addingSaturated(link.receivedBytes)
      sum.sentBytes = sum.sentBytes.addingSaturated(link.sentBytes)
      sum.receivedBitsPerSecond = Self.sum(sum.receivedBitsPerSecond, link.receivedBitsPerSecond)
      sum.sentBitsPerSecond = Self.sum(sum.sentBitsPerSecond, link.sentBitsPerSecond)
    }
    if links.count > 1 { sum.links = links }
    self = sum
  }

  private static func sum(_ one: UInt64?, _ other: UInt64?) -> UInt64? {
    one.flatMap { one in other.map(one.addingSaturated) }
  }

  /// The name of the link. Bytes that are not UTF-8 are replaced by U+FFFD.
  public var interfaceName: String { kernelName.text }
}

extension LinkTraffic: CustomStringConvertible {
  /// The name of the link and its rates, such as `eth0: 1200 b/s received, 300 b/s sent`. A rate that is not known is `?`.
  public var description: String {
    func rate(_ value: UInt64?) -> String { value.map { "\($0) b/s" } ?? "?" }
    let (received, sent) = (rate(receivedBitsPerSecond), rate(sentBitsPerSecond))
    return "\(interfaceName.sanitizedForTerminal): \(received) received, \(sent) sent"
  }
}
