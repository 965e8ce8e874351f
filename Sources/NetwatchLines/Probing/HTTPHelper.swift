import Glibc
import Netwatch
import NetwatchEventLoop

/// The program `netwatch-http`, which is linked to libcurl. netwatch is not, and does without what needs it where there is none.
package enum HTTPHelper {
  package static let name = "netwatch-http"

  /// Beside netwatch, or where packages put what only programs run.
  ///
  /// - Parameter purpose: such as "--probe".
  package static func find(for purpose: String) throws(PlainError) -> String {
    let places = folder.map { ["\($0)/\(name)", "\($0)/../lib/netwatch/\(name)"] } ?? []
    if let place = places.first(where: { unsafe access($0, X_OK) == 0 }) { return place }
    throw PlainError(
      "\(purpose) needs \(name), which is not here; install netwatch's package, or put it beside netwatch.")
  }

  /// This process goes on as the helper, with the arguments from `command` on: so signals, the terminal and the exit status are
  /// the helper's own.
  package static func become(_ command: String) throws(PlainError) -> Never {
    let program = try find(for: command)
    try checkLibraries(of: program)
    guard let place = CommandLine.arguments.firstIndex(of: command) else {
      throw PlainError("\(command) is missing")
    }
    // As they came, to the byte. What stands before the command is taken for the program's name.
    unsafe execv(program, CommandLine.unsafeArgv + (place - 1))
    throw PlainError(unsafe "can not start \(program): \(String(cString: strerror(errno)))")
  }

  /// Of the running netwatch; nil where there is no /proc.
  private static var folder: String? {
    guard let path = FileDescriptor.target(ofLink: "/proc/self/exe") else { return nil }
    return path.lastIndex(of: "/").map { String(path[..<$0]) }
  }
}
