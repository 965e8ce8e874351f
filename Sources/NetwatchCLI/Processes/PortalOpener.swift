import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Opens a login page with xdg-open. The URL is one argument, percent-encoded, and netwatch does not pass it to a shell.
enum PortalOpener {
  private static let program = "xdg-open"

  /// Opens a login page and waits until xdg-open ends, which is when a browser has the URL.
  ///
  /// - Throws: A `PlainError` if xdg-open is not installed or fails. A `SystemError` if it cannot be started.
  static func open(_ portal: PortalURL) throws {
    guard let path else {
      throw PlainError("\(program) is not installed; install xdg-utils, or open \(portal.encoded) yourself.")
    }
    switch ChildProcess.waitForEnd(of: try launch(path, portal)) {
    case .exited(0), nil: return
    case .exited(let status): throw PlainError("\(program) has ended with status \(status)")
    case .killed(let signal): throw PlainError("\(program) was ended by signal \(signal)")
    }
  }

  /// Starts to open a login page, after its URL was printed on standard error. Errors, and the output of xdg-open, also go
  /// there.
  static func start(_ portal: PortalURL, on loop: EventLoop) {
    guard let path else { return StandardError.warn("\(program) is not installed; install xdg-utils") }
    StandardError.warn("opening the login page at \(portal.encoded)")
    do throws(SystemError) {
      try ChildProcess.whenEnded(try launch(path, portal), on: loop) { _ in }
    } catch {
      StandardError.warn("cannot run \(program): \(error)")
    }
  }

  private static func launch(_ path: String, _ portal: PortalURL) throws(SystemError) -> pid_t {
    try ChildProcess.spawn(path, [portal.encoded], descriptors: [(STDERR_FILENO, STDOUT_FILENO)])
  }

  /// The path of xdg-open in the absolute folders of PATH; nil if it is not installed.
  private static var path: String? {
    let folders = (String(environment: "PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
    return folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(program)" }.first { unsafe access($0, X_OK) == 0 }
  }
}
