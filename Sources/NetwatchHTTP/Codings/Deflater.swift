import CLibZ

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
