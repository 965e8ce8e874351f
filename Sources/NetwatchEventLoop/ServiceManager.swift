import CLinux
import NetwatchLibC

/// The sockets that systemd passes to a service, and the messages that systemd expects.
///
/// The type uses the documented environment of sd_listen_fds(3), sd_notify(3) and sd_watchdog_enabled(3), without libsystemd.
package final class ServiceManager {
  /// The descriptors of passed sockets, which already listen.
  package let sockets: [CInt]
  /// The longest time between two messages to the watchdog; nil if there is no watchdog.
  package let watchdogInterval: Duration?
  private let notifyPath: String?
  /// The socket that messages are sent from. It is opened at once, so that there is a descriptor for it when no other is left:
  /// systemd ends a service whose watchdog is not fed.
  private let notifySocket: CInt
  private var watchdogTimer: LoopTimer?

  private static let firstSocket: CInt = 3

  /// Reads the variables of systemd, and removes them from the environment because they are not for child processes.
  package static func fromEnvironment() -> ServiceManager {
    let pid = "\(getpid())"
    let count = removeVariable("LISTEN_PID") == pid ? removeVariable("LISTEN_FDS").flatMap { CInt($0) } ?? 0 : 0
    _ = removeVariable("LISTEN_FDS")
    _ = removeVariable("LISTEN_FDNAMES")
    let watchdogPID = removeVariable("WATCHDOG_PID")
    let microseconds = removeVariable("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
    let isWatched = microseconds > 0 && (watchdogPID == nil || watchdogPID == pid)
    return ServiceManager(
      sockets: Array(firstSocket..<(firstSocket + max(0, min(count, 64)))),
      watchdogInterval: isWatched ? .microseconds(microseconds) : nil, notifyPath: removeVariable("NOTIFY_SOCKET"))
  }

  private init(sockets: [CInt], watchdogInterval: Duration?, notifyPath: String?) {
    self.sockets = sockets
    self.watchdogInterval = watchdogInterval
    self.notifyPath = notifyPath
    notifySocket =
      notifyPath == nil ? -1 : socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var patience = Self.patience
    unsafe setsockopt(notifySocket, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { if notifySocket >= 0 { close(notifySocket) } }

  private static func removeVariable(_ name: String) -> String? {
    defer { unsafe unsetenv(name) }
    return String(environment: name)
  }

  /// The longest time to wait for room in the manager's socket.
  private static let patience = timeval(tv_sec: 1, tv_usec: 0)

  /// Reports that the service is alive. If the manager's socket is full, the message is dropped, because earlier ones wait
  /// there.
  private func feedWatchdog() { send("WATCHDOG=1", flags: CInt(MSG_DONTWAIT)) }

  /// Reports that the service is alive, now and three times in each interval of the watchdog, as long as the loop runs. Does nothing
  /// without a watchdog. Call this once, on the loop's thread.
  package func feedWatchdog(on loop: EventLoop) {
    guard let interval = watchdogInterval else { return }
    feedWatchdog()
    let timer = LoopTimer(on: loop) { [unowned self] in
      feedWatchdog()
      watchdogTimer?.set(after: interval / 3)
    }
    timer.set(after: interval / 3)
    watchdogTimer = timer
  }

  /// Reports a state, such as `READY=1`. Does nothing if the manager expects no messages.
  package func notify(_ state: String) { send(state, flags: 0) }

  private func send(_ state: String, flags: CInt) {
    guard let notifyPath, notifyPath.hasPrefix("/") || notifyPath.hasPrefix("@") else { return }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // '@' stands for the zero byte of an abstract name. The length of the address ends the name.
    var path = Array(notifyPath.utf8)
    if path[0] == UInt8(ascii: "@") { path[0] = 0 }
    guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
    let message = Array(state.utf8)
    unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        // A send with a limit of time is not continued after a signal.
        while unsafe sendto(notifySocket, message, message.count, CInt(MSG_NOSIGNAL) | flags, $0, length) < 0,
          errno == EINTR
        {}
      }
    }
  }
}
