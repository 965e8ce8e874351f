/// The beginning of a file with a stored answer: how long its head and its body are, and their checksums.
///
/// ```
///   0  "netwatch"     8  version      12  bytes of the head     16  bytes of the body
///  24  checksum of the head    28  of the body    32  of all of this    36  the head, then the body
/// ```
///
/// All numbers are little-endian. It is written last, so that a file without its end has no preface either.
struct AnswerPreface: Hashable, Sendable {
  static let size = 36
  /// A limit. HTTP servers send heads of a few kilobytes, and libcurl accepts 300 KiB.
  static let mostHeadBytes = 4 * 1_024 * 1_024
  private static let mark = Array("netwatch".utf8)
  private static let version: UInt32 = 1

  let headCount: Int
  let bodyCount: Int64
  let headSum: UInt32
  let bodySum: UInt32

  init(headCount: Int, bodyCount: Int64, headSum: UInt32, bodySum: UInt32) {
    self.headCount = headCount
    self.bodyCount = bodyCount
    self.headSum = headSum
    self.bodySum = bodySum
  }

  /// Nil for bytes that are not a preface.
  ///
  /// - Parameter fileSize: The size of the whole file.
  init?(_ bytes: [UInt8], fileSize: Int64) {
    guard bytes.count == Self.size, bytes.starts(with: Self.mark), Self.number(bytes[8..<12]) == UInt64(Self.version),
      Self.number(bytes[32..<36]) == UInt64(Checksum.of(Array(bytes[..<32])))
    else { return nil }
    let headCount = Self.number(bytes[12..<16])
    let bodyCount = Self.number(bytes[16..<24])
    guard headCount <= Self.mostHeadBytes, bodyCount <= UInt64(max(fileSize, 0)),
      Int64(bodyCount) == fileSize - Int64(Self.size) - Int64(headCount)
    else { return nil }
    self.headCount = Int(headCount)
    self.bodyCount = Int64(bodyCount)
    headSum = UInt32(Self.number(bytes[24..<28]))
    bodySum = UInt32(Self.number(bytes[28..<32]))
  }

  var bytes: [UInt8] {
    let bytes =
      Self.mark + Self.bytes(UInt64(Self.version), 4) + Self.bytes(UInt64(headCount), 4)
      + Self.bytes(UInt64(bodyCount), 8) + Self.bytes(UInt64(headSum), 4) + Self.bytes(UInt64(bodySum), 4)
    return bytes + Self.bytes(UInt64(Checksum.of(bytes)), 4)
  }

  private static func bytes(_ number: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
