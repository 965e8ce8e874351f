/// Removes the codings from a body while it arrives. libcurl could do it, but it accepts a compressed body that is cut off.
///
/// It holds no more than the pieces between two codings: a reader that pauses also pauses the decompression.
final class BodyDecoder {
  /// The same limit as libcurl's: each coding costs memory, and an honest server uses one.
  private static let mostCodings = 5

  private let codings: [ContentCoding]?
  /// The stages in the order of decoding. Empty before the first byte, because a body without bytes is complete.
  private var stages: [Stage] = []
  /// The number of bytes that are already used and will come again.
  private var used = 0

  /// - Parameter codings: The codings in the order in which they were applied. Nil if one is unknown here, so that no byte can
  ///   be read.
  init(_ codings: [ContentCoding]?) { self.codings = codings }

  /// Decompresses bytes and delivers the result.
  ///
  /// - Parameter deliver: Takes a piece, or pauses so that it comes again.
  /// - Returns: `paused` if `deliver` has paused. Then the caller passes the same bytes again, and may add more.
  func decode(
    _ bytes: UnsafeRawBufferPointer, _ deliver: (UnsafeRawBufferPointer) -> BodyAcceptance
  ) throws(HTTPError) -> BodyAcceptance {
    if stages.isEmpty { try open() }
    let known = min(used, bytes.count)
    var input = unsafe UnsafeRawBufferPointer(rebasing: bytes.dropFirst(known))
    while true {
      let piece = try unsafe nextPiece(of: stages.count - 1, from: &input)
      if unsafe piece.isEmpty { break }
      switch unsafe deliver(piece) {
      case .taken: stages[stages.count - 1].drop(piece.count)
      case .paused:
        used = max(used, bytes.count - input.count)
        return .paused
      case .refused: return .refused
      }
    }
    used -= known
    return .taken
  }

  /// Checks that the body is complete. Call it when all bytes have arrived.
  ///
  /// - Throws: `cannotDecodeContentData` if something is missing.
  func end() throws(HTTPError) {
    for (stage, coding) in zip(stages, codings?.reversed() ?? []) where !stage.isComplete {
      throw HTTPError(coding: coding.rawValue, "the body stops before its end")
    }
  }

  private func open() throws(HTTPError) {
    guard let codings else {
      throw HTTPError(coding: "the body", "it has a transfer coding that is not known here")
    }
    guard codings.count <= Self.mostCodings else {
      throw HTTPError(coding: "the body", "it has more than \(Self.mostCodings) codings")
    }
    for coding in codings.reversed() { stages.append(Stage(try coding.open())) }
  }

  /// Returns the output of a stage. It is empty if the stage needs more input than there is.
  private func nextPiece(
    of index: Int, from input: inout UnsafeRawBufferPointer
  ) throws(HTTPError) -> UnsafeRawBufferPointer {
    let stage = stages[index]
    while unsafe stage.output.isEmpty {
      let source = unsafe index == 0 ? input : try nextPiece(of: index - 1, from: &input)
      guard unsafe !source.isEmpty || stage.mayHaveMore else { break }
      let taken = try unsafe stage.fill(from: source)
      guard unsafe taken > 0 || source.isEmpty || !stage.output.isEmpty else {
        throw HTTPError(coding: "the body", "it comes to nothing")
      }
      if index == 0 {
        unsafe input = UnsafeRawBufferPointer(rebasing: input[taken...])
      } else {
        stages[index - 1].drop(taken)
      }
    }
    return unsafe stage.output
  }
}

/// One coding, and its decompressed bytes that were not taken yet.
@safe private final class Stage {
  private static let roomSize = 64 * 1_024

  private let decompressor: any Decompressor
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Stage.roomSize, alignment: 16)
  private(set) var output = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
  /// Whether the room was too small the last time, so that there may be output without further input.
  private(set) var mayHaveMore = false

  init(_ decompressor: any Decompressor) { self.decompressor = decompressor }

  deinit { unsafe room.deallocate() }

  var isComplete: Bool { unsafe decompressor.isComplete && output.isEmpty }

  /// Decompresses more. Call it only if there is no output left.
  ///
  /// - Returns: The number of bytes of `input` that were used.
  func fill(from input: UnsafeRawBufferPointer) throws(HTTPError) -> Int {
    let (taken, filled) = try unsafe decompressor.decode(input, into: room)
    unsafe output = UnsafeRawBufferPointer(rebasing: room[..<filled])
    mayHaveMore = unsafe filled == room.count
    return taken
  }

  func drop(_ count: Int) { unsafe output = UnsafeRawBufferPointer(rebasing: output[count...]) }
}

/// The codings of a response's body, each list in the order in which the server has applied them.
struct BodyCodings {
  /// The content codings. Nil if one of them is unknown here; then they are left on the body.
  private(set) var content: [ContentCoding]? = []
  /// The transfer codings without `chunked`. Nil if one of them is unknown here; then the body cannot be read.
  private(set) var transfer: [ContentCoding]? = []

  /// Whether the body has no coding to remove.
  var isEmpty: Bool { content?.isEmpty == true && transfer?.isEmpty == true }

  mutating func add(contentEncoding value: String) {
    for name in Self.names(value) where name != "identity" && name != "none" { Self.add(name, to: &content) }
  }

  mutating func add(transferEncoding value: String) {
    for name in Self.names(value) where name != "identity" && name != "chunked" { Self.add(name, to: &transfer) }
  }

  private static func names(_ value: String) -> [String] {
    value.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
  }

  private static func add(_ name: String, to codings: inout [ContentCoding]?) {
    if let coding = ContentCoding(name) {
      codings?.append(coding)
    } else {
      codings = nil
    }
  }
}

/// A compression that a body can have (RFC 9110, section 8.4.1).
enum ContentCoding: String, CaseIterable {
  case deflate
  case gzip
  case brotli = "br"
  case zstd

  /// The value of `Accept-Encoding`: the codings that can be decoded. Two of them need libraries that libcurl may load.
  static let accepted = allCases.filter(\.isAvailable).map(\.rawValue).joined(separator: ", ")

  private var isAvailable: Bool {
    switch self {
    case .deflate, .gzip: true
    case .brotli: BrotliDecompressor.isAvailable
    case .zstd: ZstdDecompressor.isAvailable
    }
  }

  /// - Parameter name: The name in lower case. The result is nil for a coding that is unknown here.
  init?(_ name: String) {
    guard let coding = Self(rawValue: name == "x-gzip" ? "gzip" : name), coding.isAvailable else { return nil }
    self = coding
  }

  func open() throws(HTTPError) -> any Decompressor {
    switch self {
    case .deflate, .gzip: try Inflater(self)
    case .brotli: try BrotliDecompressor()
    case .zstd: try ZstdDecompressor()
    }
  }
}
