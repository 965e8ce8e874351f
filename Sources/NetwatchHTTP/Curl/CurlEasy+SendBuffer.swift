import CLibCurl

extension CurlEasy {
  /// libcurl's own default, in bytes.
  static let defaultSendBufferSize = 65_536
  /// The least that libcurl accepts, in bytes.
  private static let leastSendBufferSize = 16_384

  /// Chooses the size of the buffer for what is sent over TLS.
  ///
  /// libcurl 7.88 copies the head into it, and waits for ever if a head has more than twice its size. What `headSize` does not
  /// count, such as the session's cookies, has less than 16 KiB. That is the least size, and most requests use it: with the default
  /// of 64 KiB, the heap shrinks and grows with each request.
  func prepareSendBuffer(headSize: Int, hasBody: Bool) {
    let size = max(hasBody ? Self.defaultSendBufferSize : Self.leastSendBufferSize, headSize)
    guard size != sendBufferSize else { return }
    set(CURLOPT_UPLOAD_BUFFERSIZE, size)
    sendBufferSize = size
  }
}
