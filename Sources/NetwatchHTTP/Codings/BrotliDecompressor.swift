import CLibBrotli

/// Decompresses br. Its state never leaves this file.
@safe final class BrotliDecompressor: Decompressor {
  private let state: OpaquePointer
  private(set) var isComplete = false

  init() throws(HTTPError) {
    guard let state = unsafe BrotliDecoderCreateInstance(nil, nil, nil) else {
      throw HTTPError(.other, "BrotliDecoderCreateInstance")
    }
    unsafe self.state = state
  }

  deinit { unsafe BrotliDecoderDestroyInstance(state) }

  func decode(
    _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) throws(HTTPError) -> (taken: Int, filled: Int) {
    guard !isComplete else {
      guard unsafe input.isEmpty else { throw HTTPError(coding: "br", "something follows its end") }
      return (0, 0)
    }
    var (available, space) = (input.count, room.count)
    var next = unsafe input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var end = unsafe room.baseAddress?.assumingMemoryBound(to: UInt8.self)
    switch unsafe BrotliDecoderDecompressStream(state, &available, &next, &space, &end, nil) {
    case BROTLI_DECODER_RESULT_SUCCESS: isComplete = true
    case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT, BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: break
    default:
      let code = unsafe BrotliDecoderGetErrorCode(state)
      let words = unsafe String(cString: BrotliDecoderErrorString(code))
      throw HTTPError(.cannotDecodeContentData, "decompress br", code: code.rawValue, message: words)
    }
    return (input.count - available, room.count - space)
  }
}
