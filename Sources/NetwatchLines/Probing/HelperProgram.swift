import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// A program that is linked to a library which netwatch itself does not use. If it is missing, only the features that need it
/// do not work.
package struct HelperProgram: Sendable {
  /// The helper for HTTP requests, which uses libcurl.
  package static let http = HelperProgram(
    name: "netwatch-http", command: "get", library: "libcurl.so.4", package: "libcurl4")
  /// The helper for the log, which uses SQLite.
  package static let log = HelperProgram(
    name: "netwatch-log", command: "log", library: "libsqlite3.so.0", package: "libsqlite3-0")
  /// The helper for MQTT, which uses libmosquitto.
  package static let mqtt = HelperProgram(
    name: "netwatch-mqtt", command: "mqtt", library: "libmosquitto.so.1", package: "libmosquitto1")

  /// The name of the program.
  package let name: String
  /// One of the commands that the program knows.
  let command: String
  let library: String
  /// The name of the library's package on Debian.
  let package: String

  /// Returns the path of the helper: beside netwatch, or in the folder for programs that only other programs run.
  ///
  /// - Parameters:
  ///   - purpose: The option or command that needs the helper, such as "--probe".
  ///   - folders: Folders in which netwatch may be, if this program is another one. Default: none.
  /// - Throws: A `PlainError` if the helper is not installed.
  package func find(for purpose: String, among folders: [String] = []) throws(PlainError) -> String {
    let places = ([UserFolder.ofThisProgram].compactMap(\.self) + folders).flatMap {
      ["\($0)/\(name)", "\($0)/../lib/netwatch/\(name)"]
    }
    if let place = places.first(where: { unsafe access($0, X_OK) == 0 }) { return place }
    throw PlainError(
      "\(purpose) needs \(name), which is not here; install netwatch's package, or put \(name) beside netwatch.")
  }

  /// Replaces this process by the helper, with the arguments from `command` on. So signals, the terminal and the exit status
  /// are the helper's. Throws a `PlainError` if the helper cannot be started.
  package func become(_ command: String) throws(PlainError) -> Never {
    let program = try find(for: command)
    try checkLibraries(of: program)
    guard let place = CommandLine.arguments.firstIndex(of: command) else {
      throw PlainError("\(command) is missing")
    }
    // The arguments are passed byte for byte. The word before the command is taken as the program's name.
    unsafe execv(program, CommandLine.unsafeArgv + (place - 1))
    throw PlainError(failure(toStart: program, errno))
  }
}
