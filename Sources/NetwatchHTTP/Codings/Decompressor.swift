/// Takes one coding off, piece by piece.
protocol Decompressor: AnyObject {
  /// What is returned as neither taken nor filled needs more input.
  ///
  /// - Returns: How much of `input` was used, and how much of `room` was filled.
  /// - Throws: `cannotDecodeContentData` for bytes that are not of the coding, also behind its end.
  func decode(
    _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) throws(HTTPError) -> (taken: Int, filled: Int)

  /// The end has come, and nothing of a further part.
  var isComplete: Bool { get }
}

extension HTTPError {
  init(coding: String, _ message: String) {
    self.init(.cannotDecodeContentData, "decompress \(coding)", message: message)
  }
}
