import FoundationEssentials
import Glibc

/// Takes a body that comes in parts apart, at its line feeds or at the separators of a JSON text sequence.
///
/// Each byte is looked at once, however the body is cut into parts.
struct RecordSplitter: Sendable {
  private static let lineFeed = UInt8(ascii: "\n")
  /// Stands before each text of RFC 7464.
  private static let recordSeparator: UInt8 = 0x1e
  private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

  /// The most bytes of a record.
  private let maximumBytes: Int
  /// Whether a body that begins with a record separator is a sequence of RFC 7464.
  private let readsSequences: Bool
  private(set) var isSequence = false
  private var hasBegun = false
  private var isFirst = true
  /// What has come and has not been looked at.
  private var part = Data()
  /// The beginning of a record whose end has not come.
  private var pending = Data()

  init(maximumBytes: Int, readsSequences: Bool = false) {
    self.maximumBytes = maximumBytes
    self.readsSequences = readsSequences
  }

  /// To be called when ``next()`` has nothing more.
  mutating func append(_ bytes: Data) {
    if !hasBegun, let first = bytes.first {
      hasBegun = true
      isSequence = readsSequences && first == Self.recordSeparator
      part = isSequence ? bytes.dropFirst() : bytes
    } else {
      part = bytes
    }
  }

  /// The next record without its end; nil if that has not come.
  ///
  /// - Throws: `responseTooLarge` for a record that is longer than the limit.
  mutating func next() throws(HTTPError) -> Data? {
    let separator = isSequence ? Self.recordSeparator : Self.lineFeed
    guard let end = part.firstIndex(of: separator) else {
      if !part.isEmpty { try extend(by: part) }
      part = Data()
      return nil
    }
    let rest = part[..<end]
    part = part[end...].dropFirst()
    if pending.isEmpty, rest.count <= maximumBytes { return record(rest) }
    try extend(by: rest)
    return takePending()
  }

  /// What stands behind the last end of a record; nil for nothing. To be called at the end of the body.
  mutating func last() -> Data? { pending.isEmpty ? nil : takePending() }

  private mutating func extend(by bytes: Data) throws(HTTPError) {
    guard bytes.count <= maximumBytes - pending.count else {
      throw HTTPError(
        .responseTooLarge, "read a line",
        message: "it has more than \(maximumBytes) bytes; allow more with maximumBytes")
    }
    pending.append(bytes)
  }

  private mutating func takePending() -> Data {
    defer { pending.removeAll(keepingCapacity: true) }
    return record(pending)
  }

  private mutating func record(_ bytes: Data) -> Data {
    defer { isFirst = false }
    var bytes = bytes
    if isFirst, bytes.starts(with: Self.byteOrderMark) { bytes = bytes.dropFirst(Self.byteOrderMark.count) }
    return !isSequence && bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
  }
}
