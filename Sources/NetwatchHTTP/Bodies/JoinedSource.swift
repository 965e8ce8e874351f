/// Several bodies one after the other, each opened at its turn. Belongs to the loop.
final class JoinedSource: BodySource {
  /// The bodies, and the number of bytes that are sent of each. If a body has fewer, the whole fails, because its length was
  /// announced.
  private let pieces: [(body: HTTPBody, length: Int64)]
  private let wake: @Sendable () -> Void
  private var next = 0
  private var current: (source: any BodySource, left: Int64)?
  private(set) var failure: HTTPError?
  var canRewind: Bool { failure == nil }

  init(_ pieces: [(body: HTTPBody, length: Int64)], wake: @escaping @Sendable () -> Void) {
    self.pieces = pieces
    self.wake = wake
  }

  /// Fills as much of the room as is possible without waiting.
  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    guard failure == nil else { return .failed }
    var filled = 0
    while filled < room.count {
      do throws(HTTPError) {
        guard let (source, left) = try open() else { break }
        let most = Int(min(Int64(room.count - filled), left))
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled..<(filled + most)])
        switch unsafe source.supply(rest) {
        case .bytes(let count) where 1...most ~= count:
          filled += count
          current = (source, left - Int64(count))
        case .bytes:
          throw HTTPError(.cannotEncodeRequest, "send a part", message: "it ends \(left) bytes too early")
        case .paused: return filled > 0 ? .bytes(filled) : .paused
        case .failed: throw source.failure ?? HTTPError(.cannotEncodeRequest, "send a part")
        }
      } catch {
        failure = error
        return .failed
      }
    }
    return .bytes(filled)
  }

  /// Returns the piece that still has bytes to send. Nil if there is none.
  private func open() throws(HTTPError) -> (source: any BodySource, left: Int64)? {
    while (current?.left ?? 0) == 0 {
      current = nil
      guard next < pieces.count else { return nil }
      let piece = pieces[next]
      next += 1
      if piece.length > 0 { current = (try piece.body.open(wake), piece.length) }
    }
    return current
  }

  /// Begins again. Every piece is opened again.
  func rewind() -> Bool {
    guard failure == nil else { return false }
    (next, current) = (0, nil)
    return true
  }
}
