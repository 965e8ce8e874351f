import CLibCurl
import HTTPTypes
import Netwatch
import NetwatchLibC

/// One transfer of libcurl, which is reused for the next request. The handle never leaves this folder.
@safe final class CurlEasy {
  /// The properties of a request that its options depend on. Requests that only differ in their URLs and plain header fields
  /// have the same shape, and libcurl keeps the options for them.
  struct Shape: Hashable {
    let method: HTTPRequest.Method
    let isSecure: Bool
    let choosesCoding: Bool
    /// The identity of the host's trust.
    let trust: ObjectIdentifier?
  }

  private enum HeadPlace { case statusLine, firstField, restOfFirstField, furtherField }

  let handle: UnsafeMutableRawPointer
  /// The delegate, which gives the handle back before it goes; nil between requests.
  private unowned var delegate: (any CurlDelegate)?
  /// The buffer into which libcurl writes its error messages.
  private let words: UnsafeMutablePointer<CChar>
  /// libcurl's message about the failure of the request. Empty if it has none.
  var message: String { unsafe String(cString: words) }
  private var headers: UnsafeMutablePointer<curl_slist>?
  var names: UnsafeMutablePointer<curl_slist>?
  /// The shape of the current options; nil for options that are only valid for one request.
  private var shape: Shape?
  /// The size in bytes of the buffer for what is sent over TLS.
  private var sendBufferSize = defaultSendBufferSize
  /// The URL that is set.
  private(set) var url: CurlURL?
  /// The value of the `Cookie` field that is set; nil for none.
  private var cookies: String?
  /// The proxy that may use TLS, and its trust; nil if there is none.
  var tlsProxy: (host: String, trust: HostTrust)?
  /// The handshakes of the connections that libcurl has made since ``prepare(_:shape:)``.
  var handshakes: [Handshake] = []
  /// Whether the request has a body, and is sent over HTTP/2.
  private(set) var readsToEnd = false
  /// Whether HTTP/2 is spoken without TLS.
  var assumesHTTP2 = false
  /// The error of the socket of a connection that could not be made; nil if there is none.
  private(set) var socketError: CurlSockets.Failure?
  /// Makes the sockets of this handle's connections, and outlives them. It is not counted, like `delegate`.
  private(set) var sockets: Unmanaged<CurlSockets>?
  /// The sockets and peers of the connections that libcurl has opened since ``prepare(_:shape:)``.
  private(set) var opened: [(socket: CInt, peer: SocketAddress)] = []
  /// The error of the first option that libcurl has refused since ``prepare(_:shape:)``.
  private(set) var refusal: HTTPError?
  /// Whether a rejection would be noticed: the request was sent over HTTP/2 last.
  private var listensForRejection = false
  /// Whether libcurl tells its messages for people.
  private var listens = false
  /// The stream of the request over HTTP/2; nil if it is not known.
  private var streamID: UInt32?
  /// Whether libcurl has said that the server has rejected the request.
  private var hasHeardRejection = false
  /// The next expected line of a response's head.
  private var place = HeadPlace.statusLine
  /// The bytes of all heads and trailers since ``prepare(_:shape:)``. libcurl keeps them until the handle's next request.
  private(set) var headBytes = 0
  /// The number of connections in ``opened`` when a request was sent last.
  private var openedBefore = 0
  /// Whether the transfer was told to stop reading and sending.
  private var isPaused = false

  init() throws(HTTPError) {
    try CurlLibrary.start()
    guard let handle = unsafe curl_easy_init() else { throw HTTPError(.other, "curl_easy_init") }
    unsafe self.handle = handle
    unsafe words = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    unsafe curl_easy_cleanup(handle)
    unsafe words.deallocate()
    unsafe curl_slist_free_all(headers)
    unsafe curl_slist_free_all(names)
  }

  private var pointer: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  static func at(_ pointer: UnsafeMutableRawPointer) -> CurlEasy {
    unsafe Unmanaged<CurlEasy>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Calls `body` with the handle to which `pointer` belongs, and its delegate.
  private static func withDelegate<Result>(
    _ pointer: UnsafeMutableRawPointer?, _ otherwise: Result, _ body: (CurlEasy, any CurlDelegate) -> Result
  ) -> Result {
    guard let pointer = unsafe pointer else { return otherwise }
    let easy = unsafe CurlEasy.at(pointer)
    return easy.delegate.map { body(easy, $0) } ?? otherwise
  }

  /// Notifies the delegate that libcurl has finished the request.
  func end(_ code: CURLcode) { delegate?.ended(code) }

  /// Forgets the delegate between two requests.
  func rest() { delegate = nil }

  /// Begins a new request. Connections and TLS sessions are kept.
  ///
  /// - Returns: False if the options of the last request are kept, because they had the same `shape`.
  func prepare(_ delegate: any CurlDelegate, shape: Shape?) -> Bool {
    self.delegate = delegate
    refusal = nil
    headBytes = 0
    repeatAttempt()
    if place == .firstField { set(CURLOPT_HEADER, 0) }
    place = .statusLine
    if let list = unsafe headers {
      unsafe headers = nil
      unsafe free(list, of: CURLOPT_HTTPHEADER)
    }
    if let shape, shape == self.shape { return false }
    unsafe curl_easy_reset(handle)
    listens = false
    url = nil
    cookies = nil
    sendBufferSize = Self.defaultSendBufferSize
    assumesHTTP2 = false
    readsToEnd = false
    self.shape = shape
    prepareCallbacks()
    prepareBeginning()
    return true
  }

  /// Prepares the same request for another attempt.
  func repeatAttempt() {
    unsafe words.pointee = 0
    isPaused = false
    if !opened.isEmpty { opened = [] }
    openedBefore = 0
    if !handshakes.isEmpty { handshakes = [] }
    socketError = nil
    listensForRejection = false
    streamID = nil
    listen(false)
    if let list = unsafe names {
      unsafe names = nil
      unsafe free(list, of: CURLOPT_RESOLVE)
    }
  }

  private func prepareCallbacks() {
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, words))
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_PRIVATE, pointer))
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_HEADERDATA, pointer))
    check(
      unsafe netwatch_curl_set_data_callback(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, pointer in
        let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe CurlEasy.withDelegate(pointer, 0) { easy, delegate in
          unsafe easy.passed(line)
          return unsafe delegate.received(headLine: line) ? line.count : 0
        }
      })
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_WRITEDATA, pointer))
    check(
      unsafe netwatch_curl_set_data_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, pointer in
        let body = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        let acceptance = unsafe CurlEasy.withDelegate(pointer, .refused) { easy, delegate in
          switch easy.place {
          case .firstField: return unsafe easy.accepts(firstField: body, for: delegate)
          // libcurl writes at most 16 KiB at once (CURL_MAX_WRITE_SIZE).
          case .restOfFirstField: return .taken
          case .statusLine, .furtherField: return unsafe delegate.received(body: body)
          }
        }
        switch acceptance {
        case .taken: return body.count
        case .paused: return netwatch_curl_write_pause
        // Any result but the number of bytes is an error, even if there are no bytes.
        case .refused: return body.count == 0 ? 1 : 0
        }
      })
  }

  /// Takes note of a line that libcurl has read. The line after a status line goes to the write callback first, where it is
  /// checked before libcurl keeps it.
  private func passed(_ line: UnsafeRawBufferPointer) {
    headBytes += line.count
    if place == .statusLine {
      set(CURLOPT_HEADER, 1)
      place = .firstField
    } else if unsafe line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") {
      place = .statusLine
    } else if place == .restOfFirstField {
      place = .furtherField
    }
  }

  /// Checks the first field. A line that continues no field is not HTTP (RFC 9112, section 2.2). libcurl 7.88 appends it to the
  /// last field of the handle's previous request, whose memory is already freed.
  private func accepts(firstField line: UnsafeRawBufferPointer, for delegate: any CurlDelegate) -> BodyAcceptance {
    set(CURLOPT_HEADER, 0)
    place = .restOfFirstField
    guard unsafe line.first != UInt8(ascii: " "), unsafe line.first != UInt8(ascii: "\t") else {
      delegate.refuse(
        HTTPError(.connectionLost, "response", reason: .notHTTP, message: "its first field begins with white space"))
      return .refused
    }
    return .taken
  }

  /// Notifies the delegate when its request leaves libcurl's queue for a connection: a name is looked up, a connection is made,
  /// or the request is sent.
  private func prepareBeginning() {
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_RESOLVER_START_DATA, pointer))
    check(
      unsafe netwatch_curl_set_resolver_start_callback(handle) { _, _, pointer in
        unsafe CurlEasy.withDelegate(pointer, false) { $1.takesLookup() } ? 1 : 0
      })
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_SOCKOPTDATA, pointer))
    check(
      unsafe netwatch_curl_set_socket_option_callback(handle) { pointer, _, _ in
        unsafe CurlEasy.withDelegate(pointer, ()) { $1.hasBegun() }
        return CInt(CURL_SOCKOPT_OK)
      })
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_PREREQDATA, pointer))
    check(
      unsafe netwatch_curl_set_request_callback(handle) { pointer, _, _, _, _ in
        let maySend = unsafe CurlEasy.withDelegate(pointer, true) { easy, delegate in
          easy.dropLeftover()
          return delegate.maySend()
        }
        return CInt(maySend ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
      })
  }

  /// Ends the connection of the request that is about to be sent, if an earlier response has left bytes there: libcurl would take
  /// them for the response to this request. libcurl then sends the request over another connection.
  ///
  /// Only this request uses the connection, so nobody waits for these bytes. On a new connection, bytes before the first request
  /// belong to TLS, and over HTTP/2 they belong to other requests.
  private func dropLeftover() {
    let isNew = opened.count > openedBefore
    openedBefore = opened.count
    guard let sockets = unsafe sockets?.takeUnretainedValue(), let connection else { return }
    if assumesHTTP2 || speaksHTTP2 {
      guard CurlLibrary.failsWhenAbandoned else { return }
      if isNew { sockets.wasLeft(connection, after: nil) }
      return listen(true)
    }
    if isNew { return sockets.note(connection, of: opened.map(\.socket)) }
    guard let socket = sockets.socket(for: connection) else { return }
    if hasUnreadRecord || sockets.hasUnread(socket) { sockets.abort([socket]) }
  }

  /// Notices from now on whether the server rejects the request over HTTP/2. To be called each time before the request is sent.
  func listenForRejection() {
    hasHeardRejection = false
    listensForRejection = speaksHTTP2
    if CurlLibrary.namesRejection { listen(listensForRejection) }
  }

  /// Makes libcurl tell its messages for people, or no longer.
  private func listen(_ listens: Bool) {
    guard listens != self.listens else { return }
    self.listens = listens
    set(CURLOPT_VERBOSE, listens ? 1 : 0)
    guard listens else { return }
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_DEBUGDATA, pointer))
    check(
      unsafe netwatch_curl_set_debug_callback(handle) { _, kind, text, length, pointer in
        guard kind == CURLINFO_TEXT, let pointer = unsafe pointer, let text = unsafe text else { return 0 }
        unsafe CurlEasy.at(pointer).heard(UnsafeRawBufferPointer(start: text, count: length))
        return 0
      })
  }

  private func heard(_ message: UnsafeRawBufferPointer) {
    if unsafe CurlLibrary.isRejection(message) { hasHeardRejection = true }
    if let id = unsafe CurlLibrary.streamID(message) { streamID = id }
    // Any request of the connection may have read the frame.
    if let last = unsafe CurlLibrary.lastStream(message), let connection {
      unsafe sockets?.takeUnretainedValue().wasLeft(connection, after: last)
    }
  }

  /// Whether the server has reported, over HTTP/2, that it has not processed the request (RFC 9113, section 8.7), so that libcurl
  /// sends it again. False if this version of libcurl does not let it be known.
  var isRejected: Bool {
    guard listensForRejection else { return false }
    if CurlLibrary.namesRejection { return hasHeardRejection }
    return CurlLibrary.isSilentOnRejection && message.isEmpty
  }

  /// Whether the connection has ended because the server was leaving it and has not processed the request (GOAWAY with an earlier
  /// stream; RFC 9113, section 6.8), so that libcurl has failed with CURLE_HTTP2. False if that is not certain.
  var isAbandoned: Bool {
    guard CurlLibrary.failsWhenAbandoned, let streamID, let connection, let sockets = unsafe sockets else {
      return false
    }
    return unsafe sockets.takeUnretainedValue().lastStream(of: connection).map { $0 < streamID } ?? false
  }

  /// Whether the server has ended the stream without an error before libcurl had sent the whole request (RFC 9113, section 8.1), if
  /// libcurl has failed with CURLE_HTTP2_STREAM. It then has no message. The response has come, unless it was in one record of TLS with
  /// the end of the stream: libcurl 7.88 throws it away then. Since 8.1.0, libcurl does not fail.
  var hasLostAnswer: Bool { CurlLibrary.version < 0x08_0100 && message.isEmpty }

  /// Makes libcurl read until the server ends the stream, if HTTP/2 is spoken. To be called before a request with a body is sent.
  ///
  /// After a response's declared length, libcurl 7.88 reads no more frames, also none that would let it send the rest of the request.
  /// If a response is over before its request, 7.88 has to be woken after the request is sent: it waits for the server.
  func readToEndOfStream() {
    readsToEnd = assumesHTTP2 || speaksHTTP2
    set(CURLOPT_IGNORE_CONTENT_LENGTH, readsToEnd ? 1 : 0)
  }

  /// To be called if the request has a body.
  func prepareBody() {
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_READDATA, pointer))
    check(
      unsafe netwatch_curl_set_data_callback(handle, CURLOPT_READFUNCTION) { bytes, size, count, pointer in
        let room = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
        switch unsafe CurlEasy.withDelegate(pointer, .failed, { unsafe $1.supply(room) }) {
        case .bytes(let supplied): return min(supplied, size * count)
        case .paused: return netwatch_curl_read_pause
        case .failed: return netwatch_curl_read_abort
        }
      })
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_SEEKDATA, pointer))
    check(
      unsafe netwatch_curl_set_seek_callback(handle) { pointer, offset, origin in
        guard offset == 0, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
        return unsafe CurlEasy.withDelegate(pointer, false) { $1.rewind() } ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
      })
  }

  /// Makes libcurl open and close the sockets of this handle's connections there, also after the request.
  func use(_ sockets: CurlSockets) {
    unsafe self.sockets = Unmanaged.passUnretained(sockets)
    check(
      unsafe netwatch_curl_set_open_callback(handle) { pointer, _, address in
        guard let pointer = unsafe pointer, let address = unsafe address else { return CURL_SOCKET_BAD }
        return unsafe CurlEasy.at(pointer).openSocket(address)
      })
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, pointer))
    check(
      unsafe netwatch_curl_set_close_callback(handle) { pointer, socket in
        if let pointer = unsafe pointer { unsafe CurlSockets.at(pointer).forget(socket) }
        return NetwatchLibC.close(socket)
      })
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, self.sockets?.toOpaque()))
  }

  private func openSocket(_ address: UnsafePointer<curl_sockaddr>) -> CInt {
    guard let sockets = unsafe sockets else { return CURL_SOCKET_BAD }
    let peer = unsafe SocketAddress(netwatch_curl_address(address))
    let socket = unsafe sockets._withUnsafeGuaranteedRef {
      unsafe $0.open(address.pointee.family, address.pointee.socktype, address.pointee.protocol, to: peer)
    }
    // An address of a family that this machine does not have says less than the address of the other family.
    if socket < 0, socketError.map({ $0.error == EAFNOSUPPORT }) ?? true {
      socketError = unsafe sockets._withUnsafeGuaranteedRef { $0.failure }
    }
    if socket >= 0, let peer { opened.append((socket, peer)) }
    return socket
  }

  // MARK: Options

  func set(_ url: CurlURL) {
    if url === self.url { return }
    self.url = url
    set(CURLOPT_URL, url.text)
    // The parts are used instead of the text, except in libcurl's messages.
    unsafe set(CURLOPT_CURLU, pointer: url.parts)
  }
  func set(_ option: CURLoption, _ value: Int) { check(unsafe netwatch_curl_set_long(handle, option, value)) }
  func set(_ option: CURLoption, offset value: Int64) {
    check(unsafe netwatch_curl_set_offset(handle, option, curl_off_t(value)))
  }
  func set(_ option: CURLoption, _ value: String?) { check(unsafe netwatch_curl_set_string(handle, option, value)) }
  /// Sets an option to a pointer. What `pointer` points to has to outlive the request.
  func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
    check(unsafe netwatch_curl_set_pointer(handle, option, pointer))
  }

  func addHeader(_ line: String) { unsafe headers = append(line, to: headers) }

  /// Appends to a list, which is nil if it is empty, and returns the list. It stays as it is if there is no memory.
  func append(
    _ line: String, to list: UnsafeMutablePointer<curl_slist>?
  ) -> UnsafeMutablePointer<curl_slist>? {
    if let longer = unsafe curl_slist_append(list, line) { return unsafe longer }
    refusal = refusal ?? HTTPError(.other, "curl_slist_append")
    return unsafe list
  }

  /// Frees the list of an option, after it is removed from libcurl.
  private func free(_ list: UnsafeMutablePointer<curl_slist>, of option: CURLoption) {
    check(unsafe netwatch_curl_set_pointer(handle, option, nil))
    unsafe curl_slist_free_all(list)
  }

  func useHeaders() {
    if unsafe headers == nil { return }
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_HTTPHEADER, UnsafeMutableRawPointer(headers)))
  }

  /// Sets the value of the `Cookie` field; nil for none.
  func set(cookies: String?) {
    guard cookies != self.cookies else { return }
    self.cookies = cookies
    set(CURLOPT_COOKIE, cookies)
  }

  /// - Parameter callback: Gets `pointer`.
  func setTLSCallback(_ callback: @escaping curl_ssl_ctx_callback, _ pointer: UnsafeMutableRawPointer) {
    check(unsafe netwatch_curl_set_ssl_callback(handle, callback))
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_SSL_CTX_DATA, pointer))
  }

  /// Stops reading and sending, or continues. Received data may be delivered within this call.
  ///
  /// - Returns: False if such data was refused. libcurl only reports it here, and would continue without the data.
  @discardableResult
  func pause(_ isPaused: Bool) -> Bool {
    self.isPaused = isPaused
    let code = unsafe curl_easy_pause(handle, isPaused ? CURLPAUSE_ALL : CURLPAUSE_CONT)
    // A transfer without a connection cannot be paused, and has no data.
    return code == CURLE_OK || code == CURLE_BAD_FUNCTION_ARGUMENT
  }

  /// Makes libcurl act on the transfer soon. A paused transfer is left alone: libcurl acts on it when it continues.
  func wake() {
    guard !isPaused else { return }
    // libcurl acts on each transfer that it has paused in one direction or that continues.
    unsafe curl_easy_pause(handle, CURLPAUSE_SEND)
    pause(false)
  }

  func check(_ code: CURLcode) {
    if code != CURLE_OK, refusal == nil { refusal = HTTPError(code, "curl_easy_setopt") }
  }

  // MARK: What each request has taken

  func integer(_ info: CURLINFO) -> Int {
    var value = 0
    unsafe netwatch_curl_get_long(handle, info, &value)
    return value
  }

  func offset(_ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    unsafe netwatch_curl_get_offset(handle, info, &value)
    return Int64(value)
  }
}

/// The addresses of hosts that libcurl is given.
extension CurlEasy {
  /// Makes libcurl forget the addresses of hosts, which it keeps for a minute, before the prepared request.
  func forget(_ hosts: [Authority]) { setNames(hosts.flatMap { Self.entries("-", $0) }) }

  /// Repeats the request with the addresses that libcurl wanted to look up. libcurl keeps them for a minute.
  func repeatAttempt(with addresses: [InternetAddress], of host: Authority) {
    repeatAttempt()
    let list = addresses.map { $0.family == .ipv6 ? "[\($0)]" : $0.description }.joined(separator: ",")
    setNames(Self.entries("+", host).map { "\($0):\(list)" })
  }

  /// Some versions of libcurl drop the dot at the end of a name, others keep it.
  private static func entries(_ sign: String, _ host: Authority) -> [String] {
    let port = host.port ?? 80
    let name = host.host.hasSuffix(".") ? [String(host.host.dropLast()), host.host] : [host.host]
    return name.map { "\(sign)\($0):\(port)" }
  }

  private func setNames(_ entries: [String]) {
    for entry in entries { unsafe names = append(entry, to: names) }
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_RESOLVE, UnsafeMutableRawPointer(names)))
  }
}

extension CurlEasy {
  /// libcurl's own default, in bytes.
  private static let defaultSendBufferSize = 65_536
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
