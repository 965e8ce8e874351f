import CLibCurl
import CLibOpenSSL
import Netwatch
import NetwatchLibC

/// What libcurl knows of the last transfer of the handle.
extension CurlEasy {
  /// Returns the error that has ended the transfer, with libcurl's message.
  ///
  /// - Parameters:
  ///   - hasAnswer: Whether the server has begun to respond.
  ///   - isAbandoned: Whether the server has left the connection without processing the request.
  ///   - received: The number of bytes of the body, if the whole body may have come; otherwise nil.
  ///   - endpoint: The interface or address that connections leave from; nil if the kernel chooses.
  func failure(
    _ code: CURLcode, hasAnswer: Bool, isAbandoned: Bool, received: Int64?, from endpoint: LocalEndpoint?
  ) -> HTTPError {
    if isAbandoned {
      return HTTPError(
        code, "request", reason: .goneAway,
        message: "the server has left the connection, and has not processed the request")
    }
    // The server has closed a reused connection, and libcurl would have to send the body again.
    if code == CURLE_SEND_FAIL_REWIND, !hasAnswer {
      return HTTPError(
        .connectionLost, "request", code: CInt(code.rawValue), domain: .libcurl, reason: .closed,
        message: "the server has closed the connection, and the body can be sent once only")
    }
    let message = message
    if let failure = tlsFailure(code, message) { return HTTPError(failure, "request", code: CInt(code.rawValue)) }
    // Since 8.6.0, the error is CURLE_TOO_LARGE. Before, a long line is reported as if there were no memory for it.
    if code.rawValue == 100 || code == CURLE_OUT_OF_MEMORY && hasSent {
      let reason = code == CURLE_OUT_OF_MEMORY ? ", or memory is short" : ""
      return HTTPError(
        .responseTooLarge, "response", code: CInt(code.rawValue), domain: .libcurl, reason: .headTooLong,
        message: "its head has a line of more than 100 KiB, which is the most that libcurl reads\(reason)")
    }
    if let socketFailure, opened.isEmpty, code == CURLE_COULDNT_CONNECT { return socketFailure }
    if case .interface(let name) = endpoint, isOfBinding(code, message) {
      return HTTPError(
        code, "request", message: "no connection can leave from the interface '\(name)' of localEndpoint: \(message)")
    }
    let answer = integer(CURLINFO_HTTP_CONNECTCODE)
    if answer >= 300 {
      let advice = answer == 407 ? "; give HTTPProxy the credential that it asks for" : ""
      return HTTPError(
        .cannotConnect, "request", code: CInt(code.rawValue), domain: .libcurl,
        message: "the proxy answers \(answer)\(advice)")
    }
    if code == CURLE_PROXY {
      return HTTPError(code, "request", message: "the SOCKS proxy does not connect: \(message)")
    }
    let words = message.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : message
    let note = received.map { "; the whole body may have come, which is \($0) bytes" } ?? ""
    return HTTPError(code, "request", message: words + note)
  }

  /// The error of socket(2) or bind(2), if no connection could be made because of it. Nil if there is none.
  private var socketFailure: HTTPError? {
    guard let (error, isOfBinding) = socketError else { return nil }
    let words = unsafe String(cString: strerror(error))
    if isOfBinding {
      return HTTPError(
        CURLE_COULDNT_CONNECT, "request", message: "no connection can leave from the address of localEndpoint: \(words)"
      )
    }
    let advice =
      switch error {
      case EMFILE: "this process has no file descriptor left for a connection (see ulimit -n)"
      case ENFILE: "the system has no file descriptor left for a connection (see fs.file-max)"
      default: "no socket can be made"
      }
    return HTTPError(
      .cannotConnect, "request", code: error, domain: .system,
      reason: error == EMFILE || error == ENFILE ? .noDescriptors : nil, message: "\(advice): \(words)")
  }

  /// Returns whether libcurl could not bind a connection to its interface. libcurl 8.22.0 and later report that as a connection
  /// that could not be made, and do not name the interface.
  private func isOfBinding(_ code: CURLcode, _ message: String) -> Bool {
    let reason = unsafe String(cString: curl_easy_strerror(CURLE_INTERFACE_FAILED))
    return code == CURLE_INTERFACE_FAILED || code == CURLE_COULDNT_CONNECT && message.hasSuffix(reason)
  }

  /// The connection that the transfer uses, or has used last. Nil before it has one.
  var connection: Connection? {
    guard let local = text(CURLINFO_LOCAL_IP).flatMap({ InternetAddress($0) }),
      let peer = text(CURLINFO_PRIMARY_IP).flatMap({ InternetAddress($0) })
    else { return nil }
    return Connection(
      local: local, localPort: UInt16(truncatingIfNeeded: integer(CURLINFO_LOCAL_PORT)),
      peer: peer, peerPort: UInt16(truncatingIfNeeded: integer(CURLINFO_PRIMARY_PORT)))
  }

  /// The socket of the last connection. Nil if the connection is closed. Reading it searches all connections of the session.
  var socket: CInt? {
    let socket = unsafe netwatch_curl_get_socket(handle)
    return socket >= 0 ? socket : nil
  }

  /// Whether OpenSSL has bytes of the connection that libcurl has not asked for.
  var hasUnreadRecord: Bool {
    guard let tls = unsafe netwatch_curl_get_tls(handle) else { return false }
    return unsafe SSL_has_pending(OpaquePointer(tls)) == 1
  }

  /// The TLS of the connection that the transfer uses. Nil if it has none.
  var handshake: Handshake? {
    guard let tls = unsafe netwatch_curl_get_tls(handle) else { return nil }
    return unsafe Handshake.of(OpaquePointer(tls))
  }

  /// Whether HTTP/2 was negotiated for the connection that the transfer uses.
  var speaksHTTP2: Bool {
    guard let tls = unsafe netwatch_curl_get_tls(handle) else { return false }
    var (name, length) = unsafe (UnsafePointer<UInt8>?.none, UInt32(0))
    unsafe SSL_get0_alpn_selected(OpaquePointer(tls), &name, &length)
    return unsafe UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual("h2".utf8)
  }

  /// Returns the metrics of the request.
  ///
  /// - Parameter lead: The time from the beginning of the attempt until libcurl has got it.
  func metrics(after lead: Duration) -> HTTPMetrics {
    var metrics = HTTPMetrics()
    func duration(_ info: CURLINFO) -> Duration? {
      let microseconds = offset(info)
      return microseconds > 0 ? lead + .microseconds(microseconds) : nil
    }
    metrics.nameLookup = duration(CURLINFO_NAMELOOKUP_TIME_T)
    metrics.secureConnect = duration(CURLINFO_APPCONNECT_TIME_T)
    metrics.firstByte = duration(CURLINFO_STARTTRANSFER_TIME_T)
    metrics.total = duration(CURLINFO_TOTAL_TIME_T) ?? lead
    metrics.reusedConnection = integer(CURLINFO_NUM_CONNECTS) == 0
    metrics.connect = metrics.reusedConnection ? nil : duration(CURLINFO_CONNECT_TIME_T)
    metrics.protocolVersion =
      switch integer(CURLINFO_HTTP_VERSION) {
      case Int(CURL_HTTP_VERSION_1_0): "1.0"
      case Int(CURL_HTTP_VERSION_1_1): "1.1"
      case Int(CURL_HTTP_VERSION_2_0): "2"
      case Int(CURL_HTTP_VERSION_3): "3"
      default: ""
      }
    metrics.bytesSent = offset(CURLINFO_SIZE_UPLOAD_T)
    metrics.bytesReceived = offset(CURLINFO_SIZE_DOWNLOAD_T)
    return metrics
  }

  /// Whether a part of the request was written to a connection.
  var hasSent: Bool { integer(CURLINFO_REQUEST_SIZE) > 0 }

  func text(_ info: CURLINFO) -> String? {
    unsafe netwatch_curl_get_string(handle, info).map { unsafe String(cString: $0) }
  }
}
