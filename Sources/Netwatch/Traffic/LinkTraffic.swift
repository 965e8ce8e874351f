/// The bytes that a link has carried, and its current rates.
public struct LinkTraffic: Hashable, Sendable {
  /// The name of the link as the bytes that the kernel uses.
  package let kernelName: InterfaceName
  /// The index of the link in the kernel's table.
  public let interfaceIndex: Int32
  /// The bytes that the link has received since its counter began, which is when its driver was loaded.
  public package(set) var receivedBytes: UInt64
  /// The bytes that the link has sent since its counter began, which is when its driver was loaded.
  public let sentBytes: UInt64
  /// The received bits per second since the last sample.
  ///
  /// Nil if the rate is not known: at the first sample of a link, after its counter began anew, and after a suspend.
  public package(set) var receivedBitsPerSecond: UInt64?
  /// The sent bits per second since the last sample.
  ///
  /// Nil if the rate is not known: at the first sample of a link, after its counter began anew, and after a suspend.
  public package(set) var sentBitsPerSecond: UInt64?

  package init(kernelName: InterfaceName, interfaceIndex: Int32, receivedBytes: UInt64, sentBytes: UInt64) {
    self.kernelName = kernelName
    self.interfaceIndex = interfaceIndex
    self.receivedBytes = receivedBytes
    self.sentBytes = sentBytes
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
