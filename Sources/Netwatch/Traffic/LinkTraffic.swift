/// How much a link has carried, and how fast it does.
public struct LinkTraffic: Hashable, Sendable {
  package let kernelName: InterfaceName
  /// The index of the link.
  public let interfaceIndex: Int32
  /// The bytes that the link has received since its counter began, which is when its driver was loaded.
  public package(set) var receivedBytes: UInt64
  /// The bytes that the link has sent since its counter began, which is when its driver was loaded.
  public let sentBytes: UInt64
  /// Received bits per second since the sample before. Nil where that is not known: at the first sample of a link, after its
  /// counter began anew, and after a suspend.
  public package(set) var receivedBitsPerSecond: UInt64?
  /// Sent bits per second since the sample before. Nil where that is not known: at the first sample of a link, after its
  /// counter began anew, and after a suspend.
  public package(set) var sentBitsPerSecond: UInt64?

  package init(kernelName: InterfaceName, interfaceIndex: Int32, receivedBytes: UInt64, sentBytes: UInt64) {
    self.kernelName = kernelName
    self.interfaceIndex = interfaceIndex
    self.receivedBytes = receivedBytes
    self.sentBytes = sentBytes
  }

  /// The name of the link. What is not UTF-8 in it is replaced.
  public var interfaceName: String { kernelName.text }
}
