import Glibc
import Netwatch
import NetwatchEventLoop

extension HelperProgram {
  /// Asks the system's loader, as ldd does, whether it has what the helper is linked to: once the helper has been begun without
  /// it, nobody could say anything in our words. It takes some milliseconds, and runs nothing of the helper; only a static one,
  /// which lacks nothing, prints its help.
  ///
  /// - Throws: the name of a library that is missing, or the version of glibc that is needed.
  package func checkLibraries(of program: String) throws(PlainError) {
    guard let (list, ending) = Self.run(program, with: "LD_TRACE_LOADED_OBJECTS=1") else { return }
    if let version = Self.neededGlibc(in: list) { throw PlainError(glibcIsOlder(than: version)) }
    let lines = list.split(separator: "\n")
    guard ending == .exited(0) else {
      let reason = lines.first.map { String($0).harmless } ?? "the loader says nothing"
      throw PlainError("\(name) cannot be started: \(reason)")
    }
    // `	libcurl.so.4 => not found`
    guard let missing = lines.first(where: { $0.hasSuffix(" => not found") }) else { return }
    let library = missing.drop { $0 == "\t" || $0 == " " }.prefix { $0 != " " }
    throw PlainError(
      "\(name) cannot be started without \(library); install it (the package of \(self.library) is \(package) on Debian)"
    )
  }

  /// Why the helper could not run, for people.
  ///
  /// - Parameter output: What the helper said before it ended, or the loader in its place.
  package func failure(saying output: String) -> String {
    if let version = Self.neededGlibc(in: output) { return glibcIsOlder(than: version) }
    guard let line = output.split(separator: "\n").first else { return "\(name) cannot run: it says nothing" }
    // The sentence is whole when it begins as those of all our programs do.
    let own = "netwatch: "
    if line.hasPrefix(own) { return String(line.dropFirst(own.count)).harmless }
    return "\(name) cannot run: \(String(line).harmless)"
  }

  /// Why the helper could not be started, for people.
  package func failure(toStart program: String, _ code: CInt) -> String {
    // The file is there, so what the kernel has not found is the loader that the file names.
    if code == ENOENT, unsafe access(program, F_OK) == 0 {
      return "\(name) needs glibc, which is not here; the rest of netwatch does without it"
    }
    return unsafe "cannot start \(program): \(String(cString: strerror(code)))"
  }

  private func glibcIsOlder(than version: String) -> String {
    "\(name) needs glibc \(version) or later, and this one is older; use a newer release of this distribution"
  }

  /// The newest version that the loader misses; nil if it misses none.
  ///
  /// It has a line for each: "PROGRAM: /lib/libc.so.6: version `GLIBC_2.34' not found (required by PROGRAM)".
  private static func neededGlibc(in output: String) -> String? {
    let mark = ": version `GLIBC_"
    let versions = output.split(separator: "\n").compactMap { line -> [Int]? in
      guard let place = line.firstRange(of: mark) else { return nil }
      let numbers = line[place.upperBound...].prefix { $0 != "'" }.split(separator: ".").map { Int($0) }
      return numbers.isEmpty || numbers.contains(nil) ? nil : numbers.compactMap(\.self)
    }
    return versions.max { $0.lexicographicallyPrecedes($1) }?.map(String.init).joined(separator: ".")
  }

  /// What a program prints on its standard output and error, and its end; nil where it could not be started.
  private static func run(_ program: String, with variable: String) -> (output: String, ProcessEnding)? {
    guard let output = try? Pipe(), (try? output.readWithoutWaiting()) != nil,
      let process = try? ChildProcess.spawn(
        program, [], environment: ChildProcess.environment + [variable],
        descriptors: [(output.write, STDOUT_FILENO), (output.write, STDERR_FILENO)]),
      let ending = ChildProcess.waitForEnd(of: process)
    else { return nil }
    return (output.text(upTo: longestList), ending)
  }

  /// As much as a pipe holds: it is read when the loader has ended.
  private static let longestList = 65_536
}
