import FoundationEssentials
import NetwatchLibC

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
      self = .file(URL(literally: path))
      return
    }
    let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw GetFailure(errno, path) }
    self = .stream(descriptor)
  }

  /// Whether the bytes go to a terminal, which binary data could disturb.
  var isTerminal: Bool { if case .stream(let descriptor) = self { isatty(descriptor) == 1 } else { false } }
}

extension URL {
  /// Names the file whose path has exactly these characters. `URL(filePath:)` reads a `~` at the beginning as the home of a user,
  /// and leaves out `name/..` in a relative path, although `name` may be a link.
  init(literally path: String) {
    var folder = ""
    if !path.hasPrefix("/") {
      // Without the name of the present folder, `./` only keeps a `~` from being the beginning.
      folder =
        unsafe getcwd(nil, 0).map { name in
          defer { unsafe free(name) }
          return unsafe String(cString: name) + "/"
        } ?? "./"
    }
    self.init(filePath: folder + path, directoryHint: .notDirectory)
  }
}
