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
