import FoundationEssentials

/// An image in the encoding of the server. Only its header was read.
public struct EncodedImage: Hashable, Sendable {
  /// The format and the size of the image.
  public let header: ImageHeader
  /// The encoded bytes of the image.
  public let data: Data
}
