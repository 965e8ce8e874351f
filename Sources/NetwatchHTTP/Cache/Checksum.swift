import CLibZ

/// A checksum of bytes that come in parts: CRC-32, by zlib. It detects damage by a crash or a disk, but not deliberate changes.
struct Checksum: Hashable, Sendable {
  private(set) var value: UInt32 = 0

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    value = unsafe UInt32(
      truncatingIfNeeded: crc32_z(UInt(value), start.assumingMemoryBound(to: UInt8.self), bytes.count))
  }

  static func of(_ bytes: [UInt8]) -> UInt32 {
    var sum = Checksum()
    unsafe bytes.withUnsafeBytes { unsafe sum.add($0) }
    return sum.value
  }
}
