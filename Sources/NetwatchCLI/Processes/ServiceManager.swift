import Glibc
import NetwatchEventLoop

/// What systemd hands to a service, and what it wants to hear: sd_listen_fds(3), sd_notify(3), sd_watchdog_enabled(3), by
/// their documented environment, without libsystemd.
struct ServiceManager {
  /// Sockets that listen already.
  let sockets: [CInt]
  /// How often it wants a sign of life; nil if it does not.
  let watchdogInterval: Duration?
  private let notifyPath: String?

  private static let firstSocket: CInt = 3

  /// The variables are taken out of the environment: they are not for our children.
  static func fromEnvironment() -> ServiceManager {
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

  private static func removeVariable(_ name: String) -> String? {
    defer { unsafe unsetenv(name) }
    return String(environment: name)
  }

  /// So long a manager may take to make room for a message.
  private static let patience = timeval(tv_sec: 1, tv_usec: 0)

  /// Tells that the service lives; a manager that has not read the last such messages needs no other.
  func feedWatchdog() { send("WATCHDOG=1", flags: CInt(MSG_DONTWAIT)) }

  /// Tells the state, such as `READY=1`. Silent where nobody wants to know.
  func notify(_ state: String) { send(state, flags: 0) }

  private func send(_ state: String, flags: CInt) {
    guard let notifyPath, notifyPath.hasPrefix("/") || notifyPath.hasPrefix("@") else { return }
    let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var patience = Self.patience
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // '@' stands for the zero of an abstract name, which ends with the length.
    var path = Array(notifyPath.utf8)
    if path[0] == UInt8(ascii: "@") { path[0] = 0 }
    guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
    let message = Array(state.utf8)
    _ = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe sendto(descriptor, message, message.count, CInt(MSG_NOSIGNAL) | flags, $0, length)
      }
    }
  }
}
