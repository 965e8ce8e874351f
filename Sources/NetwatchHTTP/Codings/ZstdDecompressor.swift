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
