import Glibc

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

extension Decompressor {
  /// A function of a library that libcurl is linked to, which is loaded with it; nil if it is linked to another one, or to none.
  ///
  /// - Parameter type: What the library's header says that the function is.
  static func function<Function>(_ name: String, of type: Function.Type) -> Function? {
    // Nil stands for all that is loaded (RTLD_DEFAULT).
    unsafe dlsym(nil, name).map { unsafe unsafeBitCast($0, to: type) }
  }
}

extension HTTPError {
  init(coding: String, _ message: String) {
    self.init(.cannotDecodeContentData, "decompress \(coding)", message: message)
  }
}
