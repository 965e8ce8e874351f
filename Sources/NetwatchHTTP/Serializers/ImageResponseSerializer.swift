import FoundationEssentials
import HTTPTypes

/// A serializer that returns an encoded image with its format and size. The code that shows the image decodes it.
public struct ImageResponseSerializer: ResponseSerializer {
  /// The responses that are accepted. Default: a status from 200 to 299, and the types of the known formats.
  public var validation: ResponseValidation

  /// Creates a serializer.
  ///
  /// - Parameter validation: The responses that are accepted. Default: a status from 200 to 299, and the types of the known
  ///   formats.
  public init(validation: ResponseValidation = .image) { self.validation = validation }

  /// Returns the image, with its format and size.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted. `cannotDecodeContentData` if the type is not accepted, or if
  ///   the bytes do not begin like an image, whatever their type is.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> EncodedImage {
    try validation.decode(response, body: body, request: request, as: "read the head of an image") { data in
      guard let header = ImageHeader(data) else {
        throw HTTPError(.cannotDecodeContentData, "read the head of an image", message: "the bytes are no image")
      }
      return EncodedImage(header: header, data: data)
    }
  }
}

extension ResponseValidation {
  /// A status from 200 to 299, and the types of the formats of ``ImageHeader``, by all names that servers use.
  public static let image = ResponseValidation(contentTypes: [
    "image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/tiff", "image/vnd.microsoft.icon",
    "image/ico", "image/x-icon", "image/bmp", "image/x-bmp", "image/x-ms-bmp", "image/x-win-bitmap",
    "image/x-xbitmap",
  ])
}

/// An image in the encoding of the server. Only its header was read.
public struct EncodedImage: Hashable, Sendable {
  /// The format and the size of the image.
  public let header: ImageHeader
  /// The encoded bytes of the image.
  public let data: Data
}

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

/// Reads the size from each format. Offsets and lengths come from the sender, so ``HeaderBytes`` checks each of them.
extension ImageHeader {
  static func png(_ bytes: HeaderBytes) -> Size? {
    guard bytes.big32(at: 8) == 13, bytes.has("IHDR", at: 12) else { return nil }
    guard let width = bytes.big32(at: 16), let height = bytes.big32(at: 20) else { return nil }
    return max(width, height) <= Int(Int32.max) ? (width, height) : nil
  }

  /// Goes from segment to segment, up to the one that begins the frame.
  static func jpeg(_ bytes: HeaderBytes) -> Size? {
    var offset = 2
    while bytes.byte(at: offset) == 0xff, let marker = bytes.byte(at: offset + 1) {
      switch marker {
      case 0xff:
        // Any number of these bytes may precede a marker.
        offset += 1
      case 0x01, 0xd0...0xd7:
        offset += 2
      case 0xd8, 0xd9, 0xda:
        // Another start, the end, or the pixels, and no frame before them.
        return nil
      case 0xc0...0xcf where marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
        return pair(bytes.big16(at: offset + 7), bytes.big16(at: offset + 5))
      default:
        guard let length = bytes.big16(at: offset + 2), length >= 2 else { return nil }
        offset += 2 + length
      }
    }
    return nil
  }

  static func webp(_ bytes: HeaderBytes) -> Size? {
    if bytes.has("VP8 ", at: 12) {
      // A key frame, which begins with its start code. The upper two bits contain the scale.
      guard let tag = bytes.byte(at: 20), tag & 1 == 0, bytes.has([0x9d, 0x01, 0x2a], at: 23) else { return nil }
      return pair(bytes.little16(at: 26).map { $0 & 0x3fff }, bytes.little16(at: 28).map { $0 & 0x3fff })
    }
    if bytes.has("VP8L", at: 12) {
      guard bytes.byte(at: 20) == 0x2f, let bits = bytes.little32(at: 21), bits >> 29 == 0 else { return nil }
      return (bits & 0x3fff + 1, bits >> 14 & 0x3fff + 1)
    }
    if bytes.has("VP8X", at: 12) {
      return pair(bytes.little24(at: 24).map { $0 + 1 }, bytes.little24(at: 27).map { $0 + 1 })
    }
    return nil
  }

  /// Reads the size. The height is negative if the rows run from the top.
  static func bmp(_ bytes: HeaderBytes) -> Size? {
    switch bytes.little32(at: 14) {
    case 12: return pair(bytes.little16(at: 18), bytes.little16(at: 20))
    case 16, 40, 52, 56, 64, 108, 124:
      guard let width = bytes.little32(at: 18), let height = bytes.little32(at: 22) else { return nil }
      return (Int(Int32(truncatingIfNeeded: width)), abs(Int(Int32(truncatingIfNeeded: height))))
    default: return nil
    }
  }

  /// Finds the size among the entries of the first directory, which may be anywhere in the file.
  static func tiff(_ bytes: HeaderBytes) -> Size? {
    let isLittle = bytes.byte(at: 0) == 0x49
    let short = { (offset: Int) in bytes.number(at: offset, bytes: 2, isLittle: isLittle) }
    let long = { (offset: Int) in bytes.number(at: offset, bytes: 4, isLittle: isLittle) }
    guard let directory = long(4), directory >= 8, let count = short(directory) else { return nil }
    var size: (width: Int?, height: Int?)
    for index in 0..<count where size.width == nil || size.height == nil {
      let entry = directory + 2 + index * 12
      guard let tag = short(entry), let type = short(entry + 2), let values = long(entry + 4) else { return nil }
      guard tag == 256 || tag == 257, values == 1 else { continue }
      let value = type == 3 ? short(entry + 8) : type == 4 ? long(entry + 8) : nil
      if tag == 256 { size.width = value } else { size.height = value }
    }
    return pair(size.width, size.height)
  }

  /// Reads the largest size. A zero means 256. Each entry must point to existing bytes, because the four bytes at the start are
  /// not enough to recognise an icon.
  static func ico(_ bytes: HeaderBytes) -> Size? {
    guard let count = bytes.little16(at: 4) else { return nil }
    var largest: Size?
    for index in 0..<count {
      let entry = 6 + index * 16
      guard let width = bytes.byte(at: entry), let height = bytes.byte(at: entry + 1),
        let length = bytes.little32(at: entry + 8), let offset = bytes.little32(at: entry + 12),
        length > 0, offset >= 6 + count * 16, offset + length <= bytes.count
      else { return nil }
      let size = (width: width == 0 ? 256 : width, height: height == 0 ? 256 : height)
      if size.width * size.height > (largest.map { $0.width * $0.height } ?? 0) { largest = size }
    }
    return largest
  }
}
