import FoundationEssentials

/// The format and the size of an image, read from its first bytes.
public struct ImageHeader: Hashable, Sendable {
  /// The encoding of an image.
  public enum Format: String, Hashable, Sendable, CaseIterable {
    /// The formats that can be recognised. ICO is the format of icons such as `favicon.ico`.
    case png, jpeg, gif, webp, bmp, tiff, ico
  }

  /// The encoding of the image.
  public let format: Format
  /// The width in pixels as stored, before any rotation that the image asks for. For an icon file, the width of the largest
  /// icon.
  public let width: Int
  /// The height in pixels as stored, before any rotation that the image asks for. For an icon file, the height of the largest
  /// icon.
  public let height: Int

  /// Reads the header of an image. Nil if the data has none of the formats, ends before the size, or has no pixels.
  ///
  /// - Parameter data: The image, or at least its beginning.
  public init?(_ data: Data) {
    let bytes = HeaderBytes(data)
    guard let format = Self.format(of: bytes), let size = Self.size(format, bytes), size.width > 0, size.height > 0
    else { return nil }
    self.format = format
    (width, height) = size
  }

  typealias Size = (width: Int, height: Int)

  private static func format(of bytes: HeaderBytes) -> Format? {
    if bytes.has([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], at: 0) { return .png }
    if bytes.has([0xff, 0xd8, 0xff], at: 0) { return .jpeg }
    if bytes.has("GIF87a", at: 0) || bytes.has("GIF89a", at: 0) { return .gif }
    if bytes.has("RIFF", at: 0), bytes.has("WEBP", at: 8) { return .webp }
    if bytes.has("BM", at: 0) { return .bmp }
    if bytes.has([0x49, 0x49, 42, 0], at: 0) || bytes.has([0x4d, 0x4d, 0, 42], at: 0) { return .tiff }
    if bytes.has([0, 0, 1, 0], at: 0) { return .ico }
    return nil
  }

  private static func size(_ format: Format, _ bytes: HeaderBytes) -> Size? {
    switch format {
    case .png: png(bytes)
    case .jpeg: jpeg(bytes)
    case .gif: pair(bytes.little16(at: 6), bytes.little16(at: 8))
    case .webp: webp(bytes)
    case .bmp: bmp(bytes)
    case .tiff: tiff(bytes)
    case .ico: ico(bytes)
    }
  }

  static func pair(_ width: Int?, _ height: Int?) -> Size? {
    if let width, let height { (width, height) } else { nil }
  }
}

/// Reads numbers from the header of a file. Everything outside of the data is nil.
package struct HeaderBytes {
  private let data: Data

  /// Creates a reader for the data.
  package init(_ data: Data) { self.data = data }

  /// The number of bytes.
  package var count: Int { data.count }

  /// Returns the byte at an offset.
  package func byte(at offset: Int) -> Int? {
    guard offset >= 0, offset < data.count else { return nil }
    return Int(data[data.startIndex + offset])
  }

  /// Returns a little-endian number of 16 bits.
  package func little16(at offset: Int) -> Int? { number(at: offset, bytes: 2, isLittle: true) }
  /// Returns a little-endian number of 24 bits.
  package func little24(at offset: Int) -> Int? { number(at: offset, bytes: 3, isLittle: true) }
  /// Returns a little-endian number of 32 bits.
  package func little32(at offset: Int) -> Int? { number(at: offset, bytes: 4, isLittle: true) }
  /// Returns a big-endian number of 16 bits.
  package func big16(at offset: Int) -> Int? { number(at: offset, bytes: 2, isLittle: false) }
  /// Returns a big-endian number of 32 bits.
  package func big32(at offset: Int) -> Int? { number(at: offset, bytes: 4, isLittle: false) }

  /// Returns a big-endian number of 64 bits. It is negative if the highest bit is set.
  package func big64(at offset: Int) -> Int? { number(at: offset, bytes: 8, isLittle: false) }

  /// Returns an element of a table of big-endian numbers. Nil also for a negative number, which results from the largest ones
  /// of eight bytes.
  package func number(at table: Int, index: Int, bytes: Int) -> Int? {
    guard 0...count ~= table else { return nil }
    return number(at: table + index * bytes, bytes: bytes, isLittle: false).flatMap { $0 < 0 ? nil : $0 }
  }

  /// Returns a number of the given size and byte order.
  package func number(at offset: Int, bytes: Int, isLittle: Bool) -> Int? {
    guard offset >= 0, offset <= data.count - bytes else { return nil }
    var value = 0
    for index in 0..<bytes {
      let place = isLittle ? bytes - 1 - index : index
      value = value << 8 | Int(data[data.startIndex + offset + place])
    }
    return value
  }

  /// Whether these bytes are at an offset.
  package func has(_ expected: [UInt8], at offset: Int) -> Bool {
    expected.indices.allSatisfy { byte(at: offset + $0) == Int(expected[$0]) }
  }

  /// Whether this text is at an offset.
  package func has(_ text: StaticString, at offset: Int) -> Bool { has(Array(text.description.utf8), at: offset) }
}
