import FoundationEssentials

/// Knows what it costs to keep.
public protocol CacheCost: Sendable {
  /// In bytes.
  var cacheCost: Int { get }
}

extension Data: CacheCost {
  /// Its length.
  public var cacheCost: Int { count }
}

extension EncodedImage: CacheCost {
  /// What it takes once it is decoded, four bytes a pixel, and at least its bytes.
  public var cacheCost: Int {
    let (pixels, isTooMany) = header.width.multipliedReportingOverflow(by: header.height)
    let (bytes, areTooMany) = pixels.multipliedReportingOverflow(by: 4)
    return isTooMany || areTooMany ? .max : max(bytes, data.count)
  }
}
