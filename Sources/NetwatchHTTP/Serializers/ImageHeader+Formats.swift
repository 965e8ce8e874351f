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
