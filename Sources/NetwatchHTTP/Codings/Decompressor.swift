import CLibZ
import NetwatchLibC

/// Removes one coding, piece by piece.
protocol Decompressor: AnyObject {
  /// Decompresses a piece. If nothing is taken and nothing is filled, more input is needed.
  ///
  /// - Returns: The number of bytes of `input` that were used, and the number of bytes of `room` that were filled.
  /// - Throws: `cannotDecodeContentData` for bytes that do not belong to the coding, also after its end.
  func decode(
    _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) throws(HTTPError) -> (taken: Int, filled: Int)

  /// Whether the end was reached, and no further part has begun.
  var isComplete: Bool { get }
}

extension Decompressor {
  /// Returns a function of a library that libcurl is linked to and that is loaded with it. Nil if libcurl is not linked to that
  /// library.
  ///
  /// - Parameter type: The type of the function in the library's header.
  static func function<Function>(_ name: String, of type: Function.Type) -> Function? {
    // The nil handle searches everything that is loaded (RTLD_DEFAULT).
    unsafe dlsym(nil, name).map { unsafe unsafeBitCast($0, to: type) }
  }
}

extension HTTPError {
  init(coding: String, _ message: String) {
    self.init(.cannotDecodeContentData, "decompress \(coding)", message: message)
  }
}

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

/// Decompresses br with libbrotlidec, if libcurl loads that library. Its state never leaves this file.
@safe final class BrotliDecompressor: Decompressor {
  /// The functions of <brotli/decode.h> since its version 1.0. Their results are 0 for an error and 1 for the end.
  private typealias Create = @Sendable @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> OpaquePointer?
  private typealias Destroy = @Sendable @convention(c) (OpaquePointer) -> Void
  private typealias Decompress =
    @Sendable @convention(c) (
      OpaquePointer, UnsafeMutablePointer<Int>, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<Int>,
      UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, UnsafeMutablePointer<Int>?
    ) -> CInt

  private static let create = unsafe BrotliDecompressor.function("BrotliDecoderCreateInstance", of: Create.self)
  private static let destroy = unsafe BrotliDecompressor.function("BrotliDecoderDestroyInstance", of: Destroy.self)
  private static let decompress = unsafe BrotliDecompressor.function(
    "BrotliDecoderDecompressStream", of: Decompress.self)

  static var isAvailable: Bool { unsafe create != nil && destroy != nil && decompress != nil }

  private let state: OpaquePointer
  private(set) var isComplete = false

  /// - Throws: `other` if there is no memory or no library.
  init() throws(HTTPError) {
    guard Self.isAvailable, let state = Self.create?(nil, nil, nil) else {
      throw HTTPError(.other, "BrotliDecoderCreateInstance")
    }
    unsafe self.state = state
  }

  deinit { unsafe Self.destroy?(state) }

  func decode(
    _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) throws(HTTPError) -> (taken: Int, filled: Int) {
    guard !isComplete else {
      guard unsafe input.isEmpty else { throw HTTPError(coding: "br", "something follows its end") }
      return (0, 0)
    }
    var (available, space) = (input.count, room.count)
    var next = unsafe input.baseAddress.map { unsafe UnsafePointer($0.assumingMemoryBound(to: UInt8.self)) }
    var end = unsafe room.baseAddress?.assumingMemoryBound(to: UInt8.self)
    switch unsafe Self.decompress?(state, &available, &next, &space, &end, nil) {
    case nil, 0: throw HTTPError(coding: "br", "it is damaged")
    case 1: isComplete = true
    default: break
    }
    return (input.count - available, room.count - space)
  }
}

/// Decompresses zstd, also of several frames, with libzstd, if libcurl loads that library. Its state never leaves this file.
@safe final class ZstdDecompressor: Decompressor {
  /// A buffer with the number of bytes read or written in `place`. The fields are those of ZSTD_inBuffer and ZSTD_outBuffer.
  @safe private struct Buffer {
    let bytes: UnsafeMutableRawPointer?
    let count: Int
    var place = 0
  }

  /// The functions of <zstd.h> since its version 1.0. Two pointers are raw, because a C function type cannot have a Swift
  /// struct.
  private typealias Create = @Sendable @convention(c) () -> OpaquePointer?
  private typealias Destroy = @Sendable @convention(c) (OpaquePointer) -> Int
  private typealias Decompress =
    @Sendable @convention(c) (
      OpaquePointer, UnsafeMutableRawPointer, UnsafeMutableRawPointer
    ) -> Int
  private typealias IsError = @Sendable @convention(c) (Int) -> CUnsignedInt

  private static let create = unsafe ZstdDecompressor.function("ZSTD_createDStream", of: Create.self)
  private static let destroy = unsafe ZstdDecompressor.function("ZSTD_freeDStream", of: Destroy.self)
  private static let decompress = unsafe ZstdDecompressor.function("ZSTD_decompressStream", of: Decompress.self)
  private static let isError = ZstdDecompressor.function("ZSTD_isError", of: IsError.self)

  static var isAvailable: Bool { unsafe create != nil && destroy != nil && decompress != nil && isError != nil }

  private let state: OpaquePointer
  private(set) var isComplete = false

  /// - Throws: `other` if there is no memory or no library.
  init() throws(HTTPError) {
    guard Self.isAvailable, let state = Self.create?() else { throw HTTPError(.other, "ZSTD_createDStream") }
    unsafe self.state = state
  }

  deinit { _ = unsafe Self.destroy?(state) }

  func decode(
    _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) throws(HTTPError) -> (taken: Int, filled: Int) {
    // A further call after the end of a frame would begin the next one.
    if isComplete, unsafe input.isEmpty { return (0, 0) }
    var source = unsafe Buffer(bytes: UnsafeMutableRawPointer(mutating: input.baseAddress), count: input.count)
    var target = unsafe Buffer(bytes: room.baseAddress, count: room.count)
    let code = unsafe Self.decompress?(state, &target, &source)
    guard let code, Self.isError?(code) == 0 else { throw HTTPError(coding: "zstd", "it is damaged") }
    isComplete = code == 0
    return (source.place, target.place)
  }
}
