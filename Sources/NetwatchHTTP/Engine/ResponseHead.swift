import HTTPTypes

/// The complete head of a response. If the next head has the same bytes, it is not parsed again.
@safe final class ResponseHead {
  /// The most bytes of a head that is remembered.
  static let mostBytes = 4_096

  /// The bytes of the head, which live as long as this object. Empty if the head is not remembered.
  let text: UnsafeRawBufferPointer
  let response: HTTPResponse
  /// The status code of `response`, which would have to parse it from text.
  let code: Int
  /// The length of the body as it is delivered. Nil if it is not known before the end.
  let bodyLength: Int64?
  /// The codings of the body.
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
