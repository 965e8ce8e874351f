import Foundation
import NetwatchEventLoop
import NetwatchTestSupport

/// Functions that find and run the programs that tests need.
enum Programs {
  /// The path of the program HTTPProbe.
  static var httpProbe: String { path("HTTPProbe") }

  /// Returns the path of a program in the folder of the test bundle.
  static func path(_ name: String) -> String {
    // The running program is the test bundle itself, or it is a test runner and the bundle is one of its arguments.
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let path = own.contains(".build") ? own : CommandLine.arguments.first { $0.contains(".build") } ?? own
    return URL(filePath: path).deletingLastPathComponent().appending(path: name).path
  }

  /// Runs a program and waits for its end.
  ///
  /// - Returns: What the program has written to its standard output.
  /// - Throws: A `TestFailure` with the program's standard error if it does not exit with status 0.
  @discardableResult
  static func run(_ arguments: [String], input: String = "", in folder: URL? = nil) throws -> String {
    try requireProgram(arguments[0])
    let files = try TemporaryFolder()
    try files.write(input, to: "input")
    let place = folder.map { ["-C", $0.path] } ?? []
    let child = try start(
      place + arguments, input: files.file("input"), output: files.file("output"), errors: files.file("errors"))
    guard ChildProcess.waitForEnd(of: child) == .exited(0) else {
      throw TestFailure("\(arguments): \(files.text(of: "errors"))")
    }
    return files.text(of: "output")
  }

  /// Starts a program. Foundation's `Process` is not used because it writes beyond its memory when a test process has a
  /// thousand files open.
  static func start(
    _ arguments: [String], input: String = "/dev/null", output: String = "/dev/null", errors: String = "/dev/null"
  ) throws -> pid_t {
    var descriptors: [CInt] = []
    defer { for descriptor in descriptors { close(descriptor) } }
    for (path, flags) in [(input, O_RDONLY), (output, O_WRONLY | O_CREAT), (errors, O_WRONLY | O_CREAT)] {
      let descriptor = unsafe open(path, flags | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw TestFailure("open \(path): \(errno)") }
      descriptors.append(descriptor)
    }
    return try ChildProcess.spawn(
      "/usr/bin/env", arguments,
      descriptors: [(descriptors[0], STDIN_FILENO), (descriptors[1], STDOUT_FILENO), (descriptors[2], STDERR_FILENO)])
  }
}
