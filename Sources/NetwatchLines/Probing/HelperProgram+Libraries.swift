import Netwatch
import NetwatchEventLoop
import NetwatchLibC

extension HelperProgram {
  /// Checks whether the system has the libraries of the helper, by asking the loader, as ldd does. If the helper were started
  /// without them, only the loader could print an error. The check takes some milliseconds and runs no code of the helper. Only
  /// a static helper, which needs no libraries, runs, and prints its version.
  ///
  /// - Throws: A `PlainError` with the name of a missing library, or the required version of glibc.
  package func checkLibraries(of program: String) throws(PlainError) {
    guard let (list, ending) = Self.trace([program, command, "--version"]) else { return }
    if let version = Self.neededGlibc(in: list) { throw PlainError(glibcIsOlder(than: version)) }
    let lines = list.split(separator: "\n")
    guard ending == .exited(0) else {
      let reason = lines.first.map { String($0).sanitizedForTerminal } ?? "the loader says nothing"
      throw PlainError("\(name) cannot be started: \(reason)")
    }
    // Such a line is `        libcurl.so.4 => not found`.
    guard let missing = lines.first(where: { $0.hasSuffix(" => not found") }) else { return }
    let library = missing.drop { $0 == "\t" || $0 == " " }.prefix { $0 != " " }
    throw PlainError(
      "\(name) cannot be started without \(library); install it (the package of \(self.library) is \(package) on Debian)"
    )
  }

  /// Returns the reason why the helper could not run, as a sentence for people.
  ///
  /// - Parameter output: The text that the helper, or the loader in its place, printed before it ended.
  package func failure(saying output: String) -> String {
    if let version = Self.neededGlibc(in: output) { return glibcIsOlder(than: version) }
    guard let line = output.split(separator: "\n").first else { return "\(name) cannot run: it says nothing" }
    // The text is already a whole sentence if it begins like those of all netwatch programs.
    let own = "netwatch: "
    if line.hasPrefix(own) { return String(line.dropFirst(own.count)).sanitizedForTerminal }
    return "\(name) cannot run: \(String(line).sanitizedForTerminal)"
  }

  /// Returns the reason why the helper could not be started, as a sentence for people.
  package func failure(toStart program: String, _ code: CInt) -> String {
    // The file exists, so the kernel has not found the loader that the file names.
    if code == ENOENT, unsafe access(program, F_OK) == 0 {
      return "\(name) needs glibc, which is not here; the rest of netwatch does without it"
    }
    return unsafe "cannot start \(program): \(String(cString: strerror(code)))"
  }

  private func glibcIsOlder(than version: String) -> String {
    "\(name) needs glibc \(version) or later, and this one is older; use a newer release of this distribution"
  }

  /// Returns the newest version of glibc that the loader misses; nil if it misses none.
  ///
  /// The loader prints a line for each: "PROGRAM: /lib/libc.so.6: version `GLIBC_2.34' not found (required by PROGRAM)".
  private static func neededGlibc(in output: String) -> String? {
    let mark = ": version `GLIBC_"
    let versions = output.split(separator: "\n").compactMap { line -> [Int]? in
      guard let place = line.firstRange(of: mark) else { return nil }
      let numbers = line[place.upperBound...].prefix { $0 != "'" }.split(separator: ".").map { Int($0) }
      return numbers.isEmpty || numbers.contains(nil) ? nil : numbers.compactMap(\.self)
    }
    return versions.max { $0.lexicographicallyPrecedes($1) }?.map(String.init).joined(separator: ".")
  }

  /// Has the loader list the libraries of a program, the first of `words`; the others are the arguments of a static one.
  ///
  /// - Returns: What is printed on standard output and error, and how the process ends. Nil if it could not be started.
  private static func trace(_ words: [String]) -> (output: String, ProcessEnding)? {
    guard let output = try? Pipe(), (try? output.readWithoutWaiting()) != nil,
      let process = try? ChildProcess.spawn(
        words[0], Array(words.dropFirst()), environment: ChildProcess.environment + ["LD_TRACE_LOADED_OBJECTS=1"],
        descriptors: [(output.write, STDOUT_FILENO), (output.write, STDERR_FILENO)]),
      let ending = ChildProcess.waitForEnd(of: process)
    else { return nil }
    return (output.text(upTo: longestList), ending)
  }

  /// The most bytes to read: as many as a pipe holds, because it is read after the loader has ended.
  private static let longestList = 65_536
}
