import Glibc
import Netwatch
import NetwatchEventLoop

extension HelperProgram {
  /// Asks the system's loader, as ldd does, whether it has what the helper is linked to: once the helper has been begun without
  /// it, nobody could say anything in our words. It takes some milliseconds, and runs nothing of the helper.
  ///
  /// - Throws: the name of a library that is missing.
  package func checkLibraries(of program: String) throws(PlainError) {
    guard let (list, ending) = Self.run(program, with: "LD_TRACE_LOADED_OBJECTS=1") else { return }
    guard ending == .exited(0) else { throw PlainError("\(name) can not be started, for the reason above") }
    // `	libcurl.so.4 => not found`
    guard let missing = list.split(separator: "\n").first(where: { $0.hasSuffix(" => not found") }) else { return }
    let library = missing.drop { $0 == "\t" || $0 == " " }.prefix { $0 != " " }
    throw PlainError(
      "\(name) can not be started without \(library); install it (the package of \(self.library) is \(package) on Debian)"
    )
  }

  /// What a program prints on its standard output, and its end; nil where it could not be started.
  private static func run(_ program: String, with variable: String) -> (output: String, ProcessEnding)? {
    guard let output = try? Pipe(), (try? output.readWithoutWaiting()) != nil,
      let process = try? ChildProcess.spawn(
        program, [], environment: ChildProcess.environment + [variable], descriptors: [(output.write, STDOUT_FILENO)]),
      let ending = ChildProcess.waitForEnd(of: process)
    else { return nil }
    return (output.text(upTo: longestList), ending)
  }

  /// As much as a pipe holds: it is read when the loader has ended.
  private static let longestList = 65_536
}
