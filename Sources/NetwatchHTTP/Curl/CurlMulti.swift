import CLibCurl
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// All requests of a session in libcurl, and what they have in common. libcurl reports which sockets and which deadline it
/// waits for, and the loop waits for them.
@safe final class CurlMulti {
  /// The most handles that are kept for the next requests.
  private static let mostIdle = 64
  /// The most bytes of heads that a kept handle may have read, because libcurl keeps the heads with it.
  private static let mostHeadBytes = 16 * 1_024
  /// The most times that libcurl acts in one turn of the loop because it is due.
  private static let mostActsInTurn = 16

  /// The settings. The proxies in them are read from the environment once. libcurl would search the environment for each
  /// request, on this thread, while the app may be changing it.
  let settings: CurlSettings
  /// The cookies; nil if they are neither kept nor sent.
  let sharedCookies: SharedCookies?
  let trust: SessionTrust
  private let handle: UnsafeMutableRawPointer
  private let loop: EventLoop
  private var sockets: CurlSockets?
  private(set) var idle: [CurlEasy] = []
  private var lastURL: CurlURL?
  /// The hosts that libcurl has to look up again. libcurl gets them with the next request.
  private var namesToForget: [Authority] = []
  /// The time that libcurl waits for. Nil: it waits for sockets only.
  private var deadline: Duration?
  /// The timer for `deadline`. It may be early, because it is not moved each time libcurl asks for a later time.
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in
    // An early timer is set again by `fireDue`.
    if let deadline, deadline <= loop.now {
      self.deadline = nil
      actOnTime()
    }
  }
  private var isDue = false
  /// The handles that send bodies over HTTP/2.
  private var senders: [CurlEasy] = []
  /// Whether one of them may have sent its last part within the present call of libcurl.
  private var hasSent = false

  /// - Parameter cookies: The cookies; nil if requests have none.
  init(
    on loop: EventLoop, _ settings: CurlSettings, _ trust: SessionTrust, cookies: SharedCookies?
  ) throws(HTTPError) {
    try CurlLibrary.start()
    guard let handle = unsafe curl_multi_init() else { throw HTTPError(.other, "curl_multi_init") }
    unsafe self.handle = handle
    self.loop = loop
    self.trust = trust
    sharedCookies = cookies
    self.settings = settings
    var localAddress: InternetAddress?
    if case .address(let address) = settings.localEndpoint { localAddress = address }
    sockets = CurlSockets(on: loop, from: localAddress, as: settings.serviceType) { [unowned self] in act(on: $0, $1) }
    try setOptions()
  }

  deinit {
    idle = []
    // This closes connections, and reports their sockets.
    unsafe curl_multi_cleanup(handle)
  }

  private func setOptions() throws(HTTPError) {
    let pointer = unsafe Unmanaged.passUnretained(self).toOpaque()
    let codes = [
      unsafe netwatch_curl_multi_set_pointer(handle, CURLMOPT_SOCKETDATA, pointer),
      unsafe netwatch_curl_multi_set_socket_callback(handle) { easy, socket, what, pointer, _ in
        guard let pointer = unsafe pointer else { return 0 }
        unsafe CurlMulti.at(pointer).watch(socket, what, by: UInt(bitPattern: easy))
        return 0
      },
      unsafe netwatch_curl_multi_set_pointer(handle, CURLMOPT_TIMERDATA, pointer),
      unsafe netwatch_curl_multi_set_timer_callback(handle) { _, milliseconds, pointer in
        guard let pointer = unsafe pointer else { return 0 }
        unsafe CurlMulti.at(pointer).wait(milliseconds)
        return 0
      },
      unsafe netwatch_curl_multi_set_long(handle, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX)),
      unsafe netwatch_curl_multi_set_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, settings.connectionsPerHost),
      // 0 for no limit.
      unsafe netwatch_curl_multi_set_long(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, settings.connections ?? 0),
      unsafe netwatch_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, settings.mostIdle),
    ]
    if let code = codes.first(where: { $0 != CURLM_OK }) { throw HTTPError(code, "curl_multi_setopt") }
  }

  private static func at(_ pointer: UnsafeMutableRawPointer) -> CurlMulti {
    unsafe Unmanaged<CurlMulti>.fromOpaque(pointer).takeUnretainedValue()
  }

  // MARK: Connections

  /// Calls `opened` with each connection that begins from now on, and `closed` before a connection's socket is closed.
  func onConnections(opened: @escaping (CInt, Connection) -> Void, closed: @escaping (CInt) -> Void) {
    sockets?.onOpened = opened
    sockets?.onClosed = closed
  }

  /// Calls `hasNextAddress` with the peer of each connection attempt. If the result is true, the attempt lasts three seconds at
  /// most.
  func onAttempts(hasNextAddress: @escaping (_ peer: SocketAddress) -> Bool) {
    sockets?.hasNextAddress = hasNextAddress
  }

  /// Ends connections, which libcurl then finds dead. This works with every version of libcurl.
  func abort(_ connections: [CInt]) { sockets?.abort(connections) }

  // MARK: Transfers

  func takeEasy() throws(HTTPError) -> CurlEasy {
    if let easy = idle.popLast() { return easy }
    return try CurlEasy()
  }

  func release(_ easy: CurlEasy) {
    easy.rest()
    if idle.count < Self.mostIdle, easy.headBytes <= Self.mostHeadBytes { idle.append(easy) }
  }

  /// Makes a handle use the sockets of this object. To be called after the options of the handle were reset.
  func connect(_ easy: CurlEasy) { if let sockets { easy.use(sockets) } }

  /// Gives libcurl a request. Within this call, libcurl only asks to be called at once: ``fireDue()`` does so at the end of the turn,
  /// and the request is sent then.
  func add(_ easy: CurlEasy) throws(HTTPError) {
    let code = unsafe curl_multi_add_handle(handle, easy.handle)
    guard code == CURLM_OK else { throw HTTPError(code, "curl_multi_add_handle") }
  }

  /// Removes a handle, which breaks its transfer off. A connection in the middle of a response is closed.
  func remove(_ easy: CurlEasy) {
    unsafe curl_multi_remove_handle(handle, easy.handle)
    senders.removeAll { $0 === easy }
  }

  /// Makes libcurl read until the server ends the stream: see ``CurlEasy/readToEndOfStream()``.
  func readToEndOfStream(_ easy: CurlEasy) {
    easy.readToEndOfStream()
    if easy.readsToEnd, !senders.contains(where: { $0 === easy }) { senders.append(easy) }
  }

  /// Returns the proxy of a request that may use TLS; nil if there is none.
  func tlsProxy(isSecure: Bool) -> (host: String, trust: HostTrust)? {
    guard settings.proxies.maySpeakTLS, let proxy = settings.proxies.proxy(isSecure: isSecure) else { return nil }
    // A host that is not a valid name is judged as a name that no certificate has.
    return (HostName.canonical(proxy.host) ?? proxy.host, trust.proxy)
  }

  // MARK: Places

  /// Returns the URL of a request; nil if it is not valid.
  func url(of request: HTTPRequest) -> CurlURL? {
    if let lastURL, lastURL.isOf(request) { return lastURL }
    lastURL = CurlURL(of: request, trust)
    return lastURL
  }

  /// Returns whether the security policy of the host allows a request to a URL.
  func allows(_ url: CurlURL) -> Bool {
    guard let trust = url.trust else { return false }
    return url.isSecure || !trust.policy.requiresTLS
  }

  func allows(_ request: HTTPRequest) -> Bool { url(of: request).map { allows($0) } ?? false }

  /// Makes libcurl forget the addresses of these hosts with the next request.
  func forget(_ hosts: [Authority]) { namesToForget += hosts }

  /// Passes the hosts that libcurl has to forget. To be called for each request before libcurl gets it.
  func forgetNames(by easy: CurlEasy) {
    guard !namesToForget.isEmpty else { return }
    easy.forget(namesToForget)
    namesToForget = []
  }

  /// Takes note that libcurl has got the last part of a request's body, which it may send within the same call.
  func gotWholeBody() { hasSent = !senders.isEmpty }

  // MARK: Events

  private func watch(_ socket: CInt, _ what: CInt, by easy: UInt) {
    do throws(SystemError) {
      switch what {
      case CURL_POLL_IN:
        hasSent = true
        try sockets?.watch(socket, for: .readable, by: easy)
      case CURL_POLL_OUT: try sockets?.watch(socket, for: .writable, by: easy)
      case CURL_POLL_INOUT: try sockets?.watch(socket, for: [.readable, .writable], by: easy)
      default: sockets?.letGo(socket)
      }
    } catch {
      // The request runs into its timeout. If libcurl were told of the failure, it would fail all other requests, and crash
      // (7.88).
    }
  }

  private func wait(_ milliseconds: Int) {
    isDue = milliseconds == 0
    deadline = milliseconds > 0 ? loop.now + .milliseconds(milliseconds) : nil
  }

  private func act(on socket: CInt, _ readiness: EventLoop.Readiness) {
    var mask: CInt = 0
    if readiness.contains(.readable) { mask |= CURL_CSELECT_IN }
    if readiness.contains(.writable) { mask |= CURL_CSELECT_OUT }
    if readiness.hasHungUp { mask |= CURL_CSELECT_ERR }
    let attempt = sockets?.endAttempt(on: socket)
    var running: CInt = 0
    unsafe curl_multi_socket_action(handle, socket, mask, &running)
    if let attempt, sockets?.isOpen(socket) == false { goOnConnecting(attempt) }
    takeEnds()
  }

  /// Makes libcurl try the next address after an attempt has failed. 7.88 otherwise waits for an event that never comes.
  private func goOnConnecting(_ easy: UInt) { Self.easy(at: easy)?.wake() }

  /// Returns the object of one of libcurl's handles, by the address of the handle.
  private static func easy(at address: UInt) -> CurlEasy? {
    let handle = unsafe UnsafeMutableRawPointer(bitPattern: address)
    guard let handle = unsafe handle, let pointer = unsafe netwatch_curl_get_private(handle) else { return nil }
    return unsafe CurlEasy.at(pointer)
  }

  /// Lets libcurl act if it is due. To be called after anything that may have given libcurl work: at the end of each turn of
  /// the loop.
  func fireDue() {
    var acts = 0
    while isDue, acts < Self.mostActsInTurn {
      isDue = false
      actOnTime()
      acts += 1
    }
    // libcurl 8.14 is due again and again while a transfer over HTTP/2 is paused. What resumes it comes with another turn.
    if isDue { deadline = loop.now }
    if let deadline, timer.deadline.map({ deadline < $0 }) ?? true { timer.set(at: deadline) }
  }

  private func actOnTime() {
    var running: CInt = 0
    unsafe curl_multi_socket_action(handle, CURL_SOCKET_BAD, 0, &running)
    takeEnds()
  }

  private func takeEnds() {
    if hasSent {
      hasSent = false
      for sender in senders { sender.wake() }
    }
    var left: CInt = 0
    while let message = unsafe curl_multi_info_read(handle, &left) {
      guard unsafe message.pointee.msg == CURLMSG_DONE, let easyHandle = unsafe message.pointee.easy_handle,
        let pointer = unsafe netwatch_curl_get_private(easyHandle)
      else { continue }
      let easy = unsafe CurlEasy.at(pointer)
      let code = unsafe message.pointee.data.result
      remove(easy)
      easy.end(code)
    }
    sockets?.reportBegun()
  }
}
