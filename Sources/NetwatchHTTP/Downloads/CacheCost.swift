import FoundationEssentials

/// A value that knows what it costs to keep it in a cache.
public protocol CacheCost: Sendable {
  /// The cost of the value, in bytes.
  var cacheCost: Int { get }
}

extension Data: CacheCost {
  /// The number of bytes.
  public var cacheCost: Int { count }
}

extension EncodedImage: CacheCost {
  /// The size of the decoded image in bytes, four for each pixel, and at least the size of the encoded image.
  public var cacheCost: Int {
    let (pixels, isTooMany) = header.width.multipliedReportingOverflow(by: header.height)
    let (bytes, areTooMany) = pixels.multipliedReportingOverflow(by: 4)
    return isTooMany || areTooMany ? .max : max(bytes, data.count)
  }
}
