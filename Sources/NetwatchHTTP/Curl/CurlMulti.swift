import CLibCurl
import NetwatchEventLoop

/// All transfers of a manager, on one loop: libcurl says which sockets and which deadline it waits for, the loop waits.
@safe final class CurlMulti {
  private let handle: UnsafeMutableRawPointer
  private let loop: EventLoop
  private var sockets: CurlSockets?
  /// What libcurl waits for. Nil: for sockets alone.
  private var deadline: Duration?
  /// The loop's timer, which may be early: it is not moved each time that libcurl asks for a later one.
  private var timer: (EventLoop.Timer, at: Duration)?
  private var isDue = false
  /// The handle that libcurl has waited for a socket for until now, most recently.
  private var lastLetGo = unsafe (easy: UnsafeMutableRawPointer?.none, socket: CInt(-1))

  static func open(on loop: EventLoop, connectionsPerHost: Int) throws(HTTPError) -> CurlMulti {
    try CurlLibrary.start()
    guard let handle = unsafe curl_multi_init() else { throw HTTPError(.other, "curl_multi_init") }
    let multi = unsafe CurlMulti(owning: handle, loop)
    try multi.connect(connectionsPerHost)
    return multi
  }

  private init(owning handle: UnsafeMutableRawPointer, _ loop: EventLoop) {
    unsafe self.handle = handle
    self.loop = loop
    sockets = CurlSockets(on: loop) { [unowned self] in act(on: $0, $1) }
  }

  deinit {
    // It closes connections, and tells of their sockets.
    unsafe curl_multi_cleanup(handle)
    if let (timer, _) = timer { loop.cancel(timer) }
  }

  private func connect(_ connectionsPerHost: Int) throws(HTTPError) {
    let pointer = unsafe Unmanaged.passUnretained(self).toOpaque()
    let connectionsPerHost = min(max(connectionsPerHost, 1), 65_536)
    let codes = [
      unsafe netwatch_curl_multi_set_pointer(handle, CURLMOPT_SOCKETDATA, pointer),
      unsafe netwatch_curl_multi_set_socket_callback(handle) { easy, socket, what, pointer, _ in
        guard let pointer = unsafe pointer else { return 0 }
        let multi = unsafe CurlMulti.at(pointer)
        if what == CURL_POLL_REMOVE { unsafe multi.lastLetGo = (easy, socket) }
        multi.watch(socket, what)
        return 0
      },
      unsafe netwatch_curl_multi_set_pointer(handle, CURLMOPT_TIMERDATA, pointer),
      unsafe netwatch_curl_multi_set_timer_callback(handle) { _, milliseconds, pointer in
        guard let pointer = unsafe pointer else { return 0 }
        unsafe CurlMulti.at(pointer).wait(milliseconds)
        return 0
      },
      unsafe netwatch_curl_multi_set_long(handle, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX)),
      unsafe netwatch_curl_multi_set_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, connectionsPerHost),
      // Its own number falls with that of the transfers, and would close connections whenever few are under way.
      unsafe netwatch_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, max(4 * connectionsPerHost, 64)),
    ]
    if let code = codes.first(where: { $0 != CURLM_OK }) { throw HTTPError(code, "curl_multi_setopt") }
  }

  private static func at(_ pointer: UnsafeMutableRawPointer) -> CurlMulti {
    unsafe Unmanaged<CurlMulti>.fromOpaque(pointer).takeUnretainedValue()
  }

  // MARK: Connections

  /// Calls `opened` with each connection that begins from now on, and `closed` before its socket is closed.
  func onConnections(opened: @escaping (CInt, Connection) -> Void, closed: @escaping (CInt) -> Void) {
    sockets?.onOpened = opened
    sockets?.onClosed = closed
  }

  /// Ends connections, which libcurl then finds dead: this works with every version.
  func abort(_ connections: [CInt]) { sockets?.abort(connections) }

  // MARK: Transfers

  /// To be called for a handle whose options have been reset.
  func prepare(_ easy: CurlEasy) { sockets?.prepare(easy) }

  func add(_ easy: CurlEasy) throws(HTTPError) {
    let code = unsafe curl_multi_add_handle(handle, easy.handle)
    guard code == CURLM_OK else { throw HTTPError(code, "curl_multi_add_handle") }
  }

  /// Breaks off. A connection in the middle of a response is closed.
  func remove(_ easy: CurlEasy) { unsafe curl_multi_remove_handle(handle, easy.handle) }

  // MARK: Events

  private func watch(_ socket: CInt, _ what: CInt) {
    do throws(SystemError) {
      switch what {
      case CURL_POLL_IN: try sockets?.watch(socket, for: .readable)
      case CURL_POLL_OUT: try sockets?.watch(socket, for: .writable)
      case CURL_POLL_INOUT: try sockets?.watch(socket, for: [.readable, .writable])
      default: sockets?.letGo(socket)
      }
    } catch {
      // The request runs into its timeout. Told of it, libcurl would fail all others too, and crash (7.88).
    }
  }

  private func wait(_ milliseconds: Int) {
    isDue = milliseconds == 0
    deadline = milliseconds > 0 ? KernelClock.monotonic.now + .milliseconds(milliseconds) : nil
  }

  private func act(on socket: CInt, _ readiness: EventLoop.Readiness) {
    var mask: CInt = 0
    if readiness.contains(.readable) { mask |= CURL_CSELECT_IN }
    if readiness.contains(.writable) { mask |= CURL_CSELECT_OUT }
    if readiness.hasHungUp { mask |= CURL_CSELECT_ERR }
    var running: CInt = 0
    unsafe curl_multi_socket_action(handle, socket, mask, &running)
    takeEnds()
  }

  /// To be called after whatever may have given libcurl something to do: at the end of each turn of the loop.
  func settle() {
    while isDue {
      isDue = false
      actOnTime()
    }
    guard let deadline else { return }
    if let timer {
      guard deadline < timer.at else { return }
      loop.cancel(timer.0)
    }
    timer = (
      loop.schedule(at: deadline) { [unowned self] in
        timer = nil
        // An early timer is set again by `settle`.
        if let deadline = self.deadline, deadline <= KernelClock.monotonic.now {
          self.deadline = nil
          actOnTime()
        }
      }, deadline
    )
  }

  private func actOnTime() {
    var running: CInt = 0
    unsafe curl_multi_socket_action(handle, CURL_SOCKET_BAD, 0, &running)
    takeEnds()
  }

  private func takeEnds() {
    var left: CInt = 0
    while let message = unsafe curl_multi_info_read(handle, &left) {
      guard unsafe message.pointee.msg == CURLMSG_DONE, let easyHandle = unsafe message.pointee.easy_handle,
        let pointer = unsafe netwatch_curl_get_private(easyHandle)
      else { continue }
      let easy = unsafe CurlEasy.at(pointer)
      let code = unsafe message.pointee.data.result
      remove(easy)
      if code == CURLE_OK, !easy.isMultiplexed, unsafe lastLetGo.easy == easyHandle {
        unsafe sockets?.rest(lastLetGo.socket)
      }
      easy.end(code)
    }
  }
}
