import CLibZ
import FoundationEssentials

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

/// Compresses bytes to gzip (RFC 1952). zlib's state never leaves this file.
@safe final class Deflater {
  /// The handling of the bytes that the compressor has taken.
  enum Flush {
    /// They wait for more bytes, which improves the compression.
    case none
    /// They are written out, so that the reader gets all of them.
    case all
    /// They are written out, and nothing follows.
    case end

    fileprivate var code: CInt {
      switch self {
      case .none: Z_NO_FLUSH
      case .all: Z_SYNC_FLUSH
      case .end: Z_FINISH
      }
    }
  }

  /// zlib's largest window, 32 KiB. Adding 16 selects the gzip format.
  private static let windowBits: CInt = 15 + 16
  /// The default of zlib.
  private static let memoryLevel: CInt = 8

  /// On the heap, because zlib keeps its address.
  private let stream: UnsafeMutablePointer<z_stream>

  init() throws(HTTPError) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let code = unsafe deflateInit2_(
      stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, Self.windowBits, Self.memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      CInt(MemoryLayout<z_stream>.size))
    guard code == Z_OK else { throw HTTPError(.other, "deflateInit2", code: code, domain: .zlib) }
  }

  deinit {
    unsafe deflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// - Returns: The number of bytes of `input` that were used, and the number of bytes of `room` that were filled. If the room
  ///   is not full, everything that `flush` asks for is written.
  func encode(
    _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, _ flush: Flush
  ) throws(HTTPError) -> (taken: Int, filled: Int) {
    let (available, space) = (UInt32(clamping: input.count), UInt32(clamping: room.count))
    unsafe stream.pointee.next_in = UnsafeMutablePointer(
      mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
    unsafe stream.pointee.avail_in = available
    unsafe stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
    unsafe stream.pointee.avail_out = space
    let code = unsafe deflate(stream, flush.code)
    // Z_BUF_ERROR: there was nothing to do.
    guard code == Z_OK || code == Z_BUF_ERROR || code == Z_STREAM_END else {
      throw HTTPError(.cannotEncodeRequest, "compress the body", code: code, domain: .zlib)
    }
    return unsafe (Int(available - stream.pointee.avail_in), Int(space - stream.pointee.avail_out))
  }

  func reset() -> Bool { unsafe deflateReset(stream) == Z_OK }
}

extension HTTPBody {
  /// The largest body that is compressed at once. A larger one would delay the caller.
  private static let mostAtOnce = 64 * 1_024

  /// Returns the body compressed with gzip. The request gets the matching `Content-Encoding`.
  ///
  /// The body is compressed while it is sent, and is never in memory as a whole. Each part that a sequence yields is sent
  /// before the next one is awaited. The compressed length is not known before the end, so the body is sent in chunks and
  /// cannot be a part of a form. ``HTTPProgress`` counts the compressed bytes. Only a body in memory of at most 64 KiB is
  /// compressed at once, and keeps a length.
  ///
  /// An empty body, or one that has a content encoding, is returned unchanged. A request with its own `Content-Encoding` fails
  /// with `cannotEncodeRequest`. Compress only if you know that the server decompresses requests: few servers do so by default.
  public func compressed() -> HTTPBody {
    guard !isEmpty, contentEncoding == nil else { return self }
    let coding = ContentCoding.gzip.rawValue
    if case .memory(let data) = place, data.count <= Self.mostAtOnce, let small = try? Self.deflated(data) {
      return .data(small, contentType: contentType, contentEncoding: coding)
    }
    let (open, length) = (open, length)
    return HTTPBody(length: nil, contentType: contentType, contentEncoding: coding, at: .elsewhere) {
      wake throws(HTTPError) in
      try DeflatingSource(try open(wake), length: length)
    }
  }

  private static func deflated(_ data: Data) throws(HTTPError) -> Data {
    let source = try DeflatingSource(DataSource(data), length: Int64(data.count))
    var compressed = Data()
    var room = [UInt8](repeating: 0, count: 16 * 1_024)
    while true {
      switch unsafe room.withUnsafeMutableBytes({ unsafe source.supply($0) }) {
      case .bytes(0): return compressed
      case .bytes(let count): compressed.append(contentsOf: room[..<count])
      case .paused, .failed: throw source.failure ?? HTTPError(.cannotEncodeRequest, "compress the body")
      }
    }
  }
}
