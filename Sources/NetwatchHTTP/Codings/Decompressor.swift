import Glibc

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
