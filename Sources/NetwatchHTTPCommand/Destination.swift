import FoundationEssentials
import Glibc

/// The place to which the bytes are written.
enum Destination {
  case file(URL)
  /// Standard output, or an existing path that is not a regular file, such as a device or a named pipe.
  case stream(CInt)

  /// - Throws: A `GetFailure` if the path is a folder or cannot be opened, or standard output is closed.
  init(_ path: String) throws(GetFailure) {
    if path == "-" {
      guard fcntl(STDOUT_FILENO, F_GETFD) >= 0 else { throw GetFailure("standard output is closed") }
      self = .stream(STDOUT_FILENO)
      return
    }
    var status = stat()
    let isThere = unsafe stat(path, &status) == 0
    let type = status.st_mode & S_IFMT
    if path.hasSuffix("/") || isThere && type == S_IFDIR {
      throw GetFailure("\(path) is a folder; name a file in it with --output")
    }
    guard isThere, type != S_IFREG else {
      self = .file(URL(filePath: path, directoryHint: .notDirectory))
      return
    }
    let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw GetFailure(errno, path) }
    self = .stream(descriptor)
  }

  /// Whether the bytes go to a terminal, which binary data could disturb.
  var isTerminal: Bool { if case .stream(let descriptor) = self { isatty(descriptor) == 1 } else { false } }
}
