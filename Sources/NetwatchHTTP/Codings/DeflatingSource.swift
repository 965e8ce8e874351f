/// Compresses a body while it is sent. Belongs to the loop.
@safe final class DeflatingSource: BodySource {
  private static let pieceSize = 64 * 1_024

  private enum State { case reading, ended, finished }

  private let source: any BodySource
  /// The length of the body before compression. Nil if it is not known.
  private let length: Int64?
  private let deflater: Deflater
  private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: DeflatingSource.pieceSize, alignment: 16)
  /// The range of `piece` that was not compressed yet.
  private var rest = 0..<0
  private var state = State.reading
  /// The bytes of `length` that were not read yet. Nil if the length is not known.
  private var left: Int64?
  /// Whether the compressor may hold bytes that were not sent yet.
  private var holdsBack = false
  private(set) var failure: HTTPError?
  var canRewind: Bool { source.canRewind }

  init(_ source: any BodySource, length: Int64?) throws(HTTPError) {
    self.source = source
    self.length = length
    left = length
    deflater = try Deflater()
  }

  deinit { unsafe piece.deallocate() }

  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    guard failure == nil else { return .failed }
    do throws(HTTPError) {
      while true {
        if state == .finished { return .bytes(0) }
        let isPaused = try read()
        let flush: Deflater.Flush = state == .ended ? .end : isPaused ? .all : .none
        if isPaused, !holdsBack { return .paused }
        let filled = try unsafe encode(into: room, flush)
        if filled > 0 { return .bytes(filled) }
      }
    } catch {
      failure = error
      return .failed
    }
  }

  /// Reads the next piece if the last one is compressed.
  ///
  /// - Returns: Whether the source has no bytes at present.
  private func read() throws(HTTPError) -> Bool {
    guard rest.isEmpty, state == .reading else { return false }
    let most = Int(min(Int64(Self.pieceSize), left ?? .max))
    guard most > 0 else {
      state = .ended
      return false
    }
    switch unsafe source.supply(UnsafeMutableRawBufferPointer(rebasing: piece[..<most])) {
    case .paused: return true
    case .failed: throw source.failure ?? HTTPError(.cannotEncodeRequest, "send body")
    case .bytes(let count) where 1...most ~= count:
      rest = 0..<count
      left = left.map { $0 - Int64(count) }
    case .bytes:
      if let left {
        throw HTTPError(
          .cannotEncodeRequest, "send body", message: "it ends \(left) bytes before the length that was declared")
      }
      state = .ended
    }
    return false
  }

  private func encode(
    into room: UnsafeMutableRawBufferPointer, _ flush: Deflater.Flush
  ) throws(HTTPError) -> Int {
    let input = unsafe UnsafeRawBufferPointer(rebasing: piece[rest])
    let (taken, filled) = try unsafe deflater.encode(input, into: room, flush)
    rest = (rest.lowerBound + taken)..<rest.upperBound
    let isAllOut = filled < room.count && rest.isEmpty
    switch flush {
    case .none: holdsBack = true
    case .all: if isAllOut { holdsBack = false }
    case .end: if isAllOut { state = .finished }
    }
    return filled
  }

  func rewind() -> Bool {
    guard source.rewind(), deflater.reset() else { return false }
    (rest, state, left, holdsBack, failure) = (0..<0, .reading, length, false, nil)
    return true
  }
}
