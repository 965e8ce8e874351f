import FoundationEssentials

/// An image as a server has sent it. Of its bytes, only the head was read.
public struct EncodedImage: Hashable, Sendable {
  public let header: ImageHeader
  public let data: Data
}
