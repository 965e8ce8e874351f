import CLibZ

/// Decompresses gzip and deflate. zlib's state never leaves this file.
///
/// gzip may consist of several members (RFC 1952, section 2.2), and zero bytes may fill it up, as tapes had them; gunzip ignores those.
/// It may also be in zlib's format, which libcurl also accepts.
/// deflate is in zlib's format, as RFC 9110 requires, or raw, as many servers send it.
@safe final class Inflater: Decompressor {
  private enum State { case new, inside, complete }

  /// The number of bytes after raw deflate that browsers and libcurl ignore, because some servers append a checksum.
  private static let mostBehindRaw = 4
  private static let windowBits: CInt = 15
  /// Added to the window bits, it makes zlib detect which of its two formats is used.
  private static let eitherFormat: CInt = 32

  private let coding: ContentCoding
  /// On the heap, because zlib keeps its address.
  private let stream: UnsafeMutablePointer<z_stream>
  private var state = State.new
  /// The number of bytes that may still follow the end.
  private var tolerated = 0

  init(_ coding: ContentCoding) throws(HTTPError) {
    self.coding = coding
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let code = unsafe inflateInit2_(
      stream, Self.windowBits + Self.eitherFormat, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    guard code == Z_OK else { throw HTTPError(.other, "inflateInit2", code: code, domain: .zlib) }
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  var isComplete: Bool { state == .complete }

  func decode(
    _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) throws(HTTPError) -> (taken: Int, filled: Int) {
    if let first = unsafe input.first {
      if state == .complete, coding == .deflate { return try unsafe (behindEnd(input), 0) }
      if state == .complete, first == 0 { return unsafe (input.prefix { $0 == 0 }.count, 0) }
      if state != .inside { try begin(first) }
    }
    let (available, space) = (UInt32(clamping: input.count), UInt32(clamping: room.count))
    unsafe stream.pointee.next_in = UnsafeMutablePointer(
      mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
    unsafe stream.pointee.avail_in = available
    unsafe stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
    unsafe stream.pointee.avail_out = space
    let code = unsafe inflate(stream, Z_NO_FLUSH)
    switch code {
    // There is no input left, or no room.
    case Z_OK, Z_BUF_ERROR: break
    case Z_STREAM_END: state = .complete
    default: throw failure(code)
    }
    return unsafe (Int(available - stream.pointee.avail_in), Int(space - stream.pointee.avail_out))
  }

  /// Handles the first byte of the body, or of a further member.
  private func begin(_ first: UInt8) throws(HTTPError) {
    let isFurther = state == .complete
    state = .inside
    // zlib's format always begins with these bits, and no compressor begins raw deflate with them.
    let isRaw = coding == .deflate && first & 0x0f != UInt8(Z_DEFLATED)
    if isRaw { tolerated = Self.mostBehindRaw }
    guard isFurther || isRaw else { return }
    let code = unsafe inflateReset2(stream, isRaw ? -Self.windowBits : Self.windowBits + Self.eitherFormat)
    guard code == Z_OK else { throw failure(code) }
  }

  private func behindEnd(_ input: UnsafeRawBufferPointer) throws(HTTPError) -> Int {
    guard input.count <= tolerated else { throw HTTPError(coding: coding.rawValue, "something follows its end") }
    tolerated -= input.count
    return input.count
  }

  private func failure(_ code: CInt) -> HTTPError {
    let words = unsafe stream.pointee.msg.map { unsafe String(cString: $0) }
    return HTTPError(
      .cannotDecodeContentData, "decompress \(coding.rawValue)", code: code, domain: .zlib, message: words ?? "")
  }
}
