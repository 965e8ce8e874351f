import CLibZ

/// Compresses bytes to gzip (RFC 1952). zlib's state never leaves this file.
@safe final class Deflater {
  /// What is to become of the bytes that have been taken.
  enum Flush {
    /// They wait for more, which compresses them better.
    case none
    /// They come out, so that the reader has all of them.
    case all
    /// Nothing follows them.
    case end

    fileprivate var code: CInt {
      switch self {
      case .none: Z_NO_FLUSH
      case .all: Z_SYNC_FLUSH
      case .end: Z_FINISH
      }
    }
  }

  /// zlib's largest window, 32 KiB; 16 more make its format gzip.
  private static let windowBits: CInt = 15 + 16
  /// zlib's own default.
  private static let memoryLevel: CInt = 8

  /// zlib keeps its address.
  private let stream: UnsafeMutablePointer<z_stream>

  init() throws(HTTPError) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let code = unsafe deflateInit2_(
      stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, Self.windowBits, Self.memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      CInt(MemoryLayout<z_stream>.size))
    guard code == Z_OK else { throw HTTPError(.other, "deflateInit2", code: code) }
  }

  deinit {
    unsafe deflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// - Returns: How much of `input` was used, and how much of `room` was filled. A room that is not filled has all that `flush`
  ///   asks for.
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
    // The second: there was nothing to do.
    guard code == Z_OK || code == Z_BUF_ERROR || code == Z_STREAM_END else {
      throw HTTPError(.cannotEncodeRequest, "compress the body", code: code)
    }
    return unsafe (Int(available - stream.pointee.avail_in), Int(space - stream.pointee.avail_out))
  }

  func reset() -> Bool { unsafe deflateReset(stream) == Z_OK }
}
