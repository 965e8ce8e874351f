import CLibCurl

/// What a server sends behind a whole response. It must not become the response to the next request of the connection.
extension CurlEasy {
  /// Takes note of a part of the body. libcurl reads no more than the body, and a record of TLS may have more. OpenSSL would give
  /// that to the next request.
  func took(_ count: Int) {
    guard url?.isSecure ?? true, !isMultiplexed else { return }
    bodyBytes = bodyBytes &+ Int64(count)
    guard bodyBytes == offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T), hasUnreadRecord, !forbidsReuse else { return }
    forbidsReuse = true
    set(CURLOPT_FORBID_REUSE, 1)
  }

  /// Whether there may be bytes after the response that libcurl has not read. Without TLS, it reads 16 KiB at a time
  /// (CURL_MAX_WRITE_SIZE), sees what follows a response within them, and reads once in a call (7.88). Once it has read a head
  /// alone, it reads no more than the body. With TLS, it reads one record at a time.
  var mayHaveLeftMore: Bool {
    if url?.isSecure ?? true || tlsProxy != nil || headCall != call { return true }
    let length = offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    return length < 0 || length >= 16_384 || headBytes + Int(length) >= 16_384
  }

  /// Ends the connection before a request is sent over it, if an earlier response has left bytes there. libcurl then makes
  /// another one.
  func dropLeftover(onLocalPort port: UInt16) {
    unsafe sockets?._withUnsafeGuaranteedRef { $0.dropLeftovers(onLocalPort: port) }
    guard CurlLibrary.passesConnectionsOn, integer(CURLINFO_NUM_CONNECTS) == 0, !assumesHTTP2, !speaksHTTP2, let socket
    else { return }
    unsafe sockets?._withUnsafeGuaranteedRef { $0.dropLeftover(on: socket) }
  }

  var call: Int { unsafe sockets?._withUnsafeGuaranteedRef(\.call) ?? 0 }
}
