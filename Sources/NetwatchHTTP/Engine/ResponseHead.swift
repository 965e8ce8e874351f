import HTTPTypes

/// The head of a response, once it is whole. One that is the same, to the byte, is not read again.
@safe final class ResponseHead {
  /// A longer one is not remembered.
  static let mostBytes = 4_096

  /// Lives as long as this. Empty where the head is not remembered.
  let text: UnsafeRawBufferPointer
  let response: HTTPResponse
  /// Of `response`, which would have to read it from its text.
  let code: Int
  /// Of the body as it is delivered; nil where that is not known before the end.
  let bodyLength: Int64?
  /// Of the body.
  let codings: BodyCodings

  init(text: [UInt8], response: HTTPResponse, code: Int, bodyLength: Int64?, codings: BodyCodings) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
    unsafe copy.copyBytes(from: text)
    unsafe self.text = UnsafeRawBufferPointer(copy)
    self.response = response
    self.code = code
    self.bodyLength = bodyLength
    self.codings = codings
  }

  deinit { unsafe text.deallocate() }
}
