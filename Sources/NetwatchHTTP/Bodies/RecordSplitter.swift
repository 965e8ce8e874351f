import FoundationEssentials
import NetwatchLibC

/// Splits a body that comes in parts at its line feeds, or at the separators of a JSON text sequence.
///
/// Each byte is examined once, however the body is cut into parts.
struct RecordSplitter: Sendable {
  private static let lineFeed = UInt8(ascii: "\n")
  /// Precedes each text of a sequence (RFC 7464).
  private static let recordSeparator: UInt8 = 0x1e
  private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

  /// The most bytes of a record.
  private let maximumBytes: Int
  /// Whether a body that begins with a record separator is a sequence of RFC 7464.
  private let readsSequences: Bool
  private(set) var isSequence = false
  private var hasBegun = false
  private var isFirst = true
  /// The bytes that have arrived and were not examined yet.
  private var part = Data()
  /// The beginning of a record whose end has not arrived.
  private var pending = Data()

  init(maximumBytes: Int, readsSequences: Bool = false) {
    self.maximumBytes = maximumBytes
    self.readsSequences = readsSequences
  }

  /// Adds bytes. Call it only when ``next()`` has returned nil.
  mutating func append(_ bytes: Data) {
    if !hasBegun, let first = bytes.first {
      hasBegun = true
      isSequence = readsSequences && first == Self.recordSeparator
      part = isSequence ? bytes.dropFirst() : bytes
    } else {
      part = bytes
    }
  }

  /// Returns the next record without its separator. Nil if its end has not arrived.
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

  /// Returns the bytes after the last separator. Nil if there are none. Call it at the end of the body.
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
