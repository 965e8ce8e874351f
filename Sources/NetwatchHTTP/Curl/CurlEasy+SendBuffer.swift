import CLibCurl

extension CurlEasy {
  /// Chooses the size of the buffer for what is sent over TLS.
  ///
  /// libcurl 7.88 copies the head into it, and waits for ever if a head has more than twice its size. What `headSize` does not
  /// count, such as the session's cookies, has less than 16 KiB. That is the least, which most requests have: with libcurl's
  /// default of 64 KiB, the heap shrinks and grows with each request.
  func prepareSendBuffer(headSize: Int, hasBody: Bool) {
    let size = max(hasBody ? 65_536 : 16_384, headSize)
    guard size != sendBufferSize else { return }
    set(CURLOPT_UPLOAD_BUFFERSIZE, size)
    sendBufferSize = size
  }
}
