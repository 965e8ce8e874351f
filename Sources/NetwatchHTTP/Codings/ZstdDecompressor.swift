import CLibZstd

/// Decompresses zstd, also of several frames. Its state never leaves this file.
@safe final class ZstdDecompressor: Decompressor {
  private let state: OpaquePointer
  private(set) var isComplete = false

  init() throws(HTTPError) {
    guard let state = unsafe ZSTD_createDStream() else { throw HTTPError(.other, "ZSTD_createDStream") }
    unsafe self.state = state
  }

  deinit { unsafe ZSTD_freeDStream(state) }

  func decode(
    _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) throws(HTTPError) -> (taken: Int, filled: Int) {
    // Asked for more behind the end of a frame, it would begin the next one.
    if isComplete, unsafe input.isEmpty { return (0, 0) }
    var source = unsafe ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
    var target = unsafe ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
    let code = unsafe ZSTD_decompressStream(state, &target, &source)
    guard ZSTD_isError(code) == 0 else {
      throw HTTPError(coding: "zstd", unsafe String(cString: ZSTD_getErrorName(code)))
    }
    isComplete = code == 0
    return unsafe (source.pos, target.pos)
  }
}
