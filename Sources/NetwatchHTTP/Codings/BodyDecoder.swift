/// Takes the codings off a body as it comes. libcurl could, but takes a compressed body without its end for a whole one.
///
/// No more than the pieces between two codings is held: a reader that wants no more now stops the decompression.
final class BodyDecoder {
  /// As libcurl has it: each costs memory, and an honest server has one.
  private static let mostCodings = 5

  private let codings: [ContentCoding]?
  /// The one that is taken off first is the first. Empty before the first byte: a body of none is whole.
  private var stages: [Stage] = []
  /// How much has been used of bytes that will come once more.
  private var used = 0

  /// - Parameter codings: in the order in which they were applied; nil if one is not known here, so that no byte can be read.
  init(_ codings: [ContentCoding]?) { self.codings = codings }

  /// Decompresses what has come, and hands it over.
  ///
  /// - Parameter deliver: takes a piece, or has it come again.
  /// - Returns: `paused` where `deliver` has: the same bytes are to come again, and may be followed by more.
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

  /// To be called when the body has come.
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

  /// What a stage has to hand over; nothing where it needs more than there is.
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

/// One coding, and what it has decompressed that nobody has taken yet.
@safe private final class Stage {
  private static let roomSize = 64 * 1_024

  private let decompressor: any Decompressor
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Stage.roomSize, alignment: 16)
  private(set) var output = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
  /// The room was too small the last time: there may be output without further input.
  private(set) var mayHaveMore = false

  init(_ decompressor: any Decompressor) { self.decompressor = decompressor }

  deinit { unsafe room.deallocate() }

  var isComplete: Bool { unsafe decompressor.isComplete && output.isEmpty }

  /// To be called when there is no output left.
  ///
  /// - Returns: how much of `input` was used.
  func fill(from input: UnsafeRawBufferPointer) throws(HTTPError) -> Int {
    let (taken, filled) = try unsafe decompressor.decode(input, into: room)
    unsafe output = UnsafeRawBufferPointer(rebasing: room[..<filled])
    mayHaveMore = unsafe filled == room.count
    return taken
  }

  func drop(_ count: Int) { unsafe output = UnsafeRawBufferPointer(rebasing: output[count...]) }
}
