import Glibc
import Netwatch
import NetwatchEventLoop

/// Has the desktop open a login page: the address is one argument of xdg-open's, and never goes through a shell.
enum PortalOpener {
  private static let program = "xdg-open"

  /// Starts it, and waits for its end: it ends once a browser has the address.
  ///
  /// - Throws: where there is no such program, or it says that it has failed.
  static func open(_ portal: PortalURL) throws {
    guard let path else {
      throw PlainError("\(program) is not installed; install xdg-utils, or open \(portal) yourself.")
    }
    switch ChildProcess.waitForEnd(of: try launch(path, portal)) {
    case .exited(0), nil: return
    case .exited(let status): throw PlainError("\(program) has ended with status \(status)")
    case .killed(let signal): throw PlainError("\(program) was ended by signal \(signal)")
    }
  }

  /// Starts it, after the address was said on standard error; whatever comes of it is said there, too.
  static func start(_ portal: PortalURL, on loop: EventLoop) {
    guard let path else { return StandardError.tell("\(program) is not installed; install xdg-utils") }
    StandardError.tell("opening the login page at \(portal)")
    do throws(SystemError) {
      try ChildProcess.whenEnded(try launch(path, portal), on: loop) { _ in }
    } catch {
      StandardError.tell("cannot run \(program): \(error)")
    }
  }

  private static func launch(_ path: String, _ portal: PortalURL) throws(SystemError) -> pid_t {
    try ChildProcess.spawn(path, [portal.description], descriptors: [(STDERR_FILENO, STDOUT_FILENO)])
  }

  /// In the folders of PATH that are named from the root.
  private static var path: String? {
    let folders = (String(environment: "PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
    return folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(program)" }.first { unsafe access($0, X_OK) == 0 }
  }
}
