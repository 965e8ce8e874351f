import Glibc
import Netwatch
import NetwatchEventLoop

/// A program that is linked to a library which netwatch is not linked to. netwatch does without what needs it if it is not there.
package struct HelperProgram: Sendable {
  /// HTTP requests, by libcurl.
  package static let http = HelperProgram(name: "netwatch-http", library: "libcurl.so.4", package: "libcurl4")
  /// The log, by SQLite.
  package static let log = HelperProgram(name: "netwatch-log", library: "libsqlite3.so.0", package: "libsqlite3-0")

  package let name: String
  let library: String
  /// The name of the library's package on Debian.
  let package: String

  /// Beside netwatch, or where packages put what only programs run.
  ///
  /// - Parameter purpose: such as "--probe".
  package func find(for purpose: String) throws(PlainError) -> String {
    let places = Self.folder.map { ["\($0)/\(name)", "\($0)/../lib/netwatch/\(name)"] } ?? []
    if let place = places.first(where: { unsafe access($0, X_OK) == 0 }) { return place }
    throw PlainError(
      "\(purpose) needs \(name), which is not here; install netwatch's package, or put it beside netwatch.")
  }

  /// This process goes on as the helper, with the arguments from `command` on: so signals, the terminal and the exit status are
  /// the helper's own.
  package func become(_ command: String) throws(PlainError) -> Never {
    let program = try find(for: command)
    try checkLibraries(of: program)
    guard let place = CommandLine.arguments.firstIndex(of: command) else {
      throw PlainError("\(command) is missing")
    }
    // As they came, to the byte. What stands before the command is taken for the program's name.
    unsafe execv(program, CommandLine.unsafeArgv + (place - 1))
    throw PlainError(failure(toStart: program, errno))
  }

  /// Of the running netwatch; nil where there is no /proc.
  private static var folder: String? {
    guard let path = FileDescriptor.target(ofLink: "/proc/self/exe") else { return nil }
    return path.lastIndex(of: "/").map { String(path[..<$0]) }
  }
}
