import Glibc
import NetwatchTestSupport
import Testing

@testable import NetwatchEventLoop

/// Which paths only root and the user can change. Tests that need files of other users run only as root.
@Suite struct TrustedPathTests {
  private static let isRoot = geteuid() == 0
  private static let stranger: uid_t = 4_242

  /// Returns the path without links, or the reason why the path is not trusted.
  private func walk(_ path: String, creatingFolders mode: mode_t? = nil) -> Result<String, TrustedPath.Fault> {
    do throws(TrustedPath.Fault) {
      return .success(try TrustedPath(path, creatingFolders: mode).path)
    } catch {
      return .failure(error)
    }
  }

  private func setMode(_ mode: mode_t, of path: String) throws {
    guard unsafe chmod(path, mode) == 0 else { throw TestFailure("chmod \(path): \(errno)") }
  }

  private func give(_ path: String, to user: uid_t = stranger) throws {
    guard unsafe lchown(path, user, user) == 0 else { throw TestFailure("lchown \(path): \(errno)") }
  }

  /// Returns a folder with the files `a/b/hook` and `other/hook`.
  private func folder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    for name in ["a/b", "other"] {
      try folder.makeFolder(name)
      try setMode(0o755, of: folder.file(name))
      try folder.write("", to: "\(name)/hook")
      try setMode(0o755, of: folder.file("\(name)/hook"))
    }
    try setMode(0o755, of: folder.file("a"))
    return folder
  }

  @Test func `the path at the end has no links`() throws {
    let folder = try folder()
    let hook = folder.file("a/b/hook")
    for (link, target) in [
      ("absolute", hook), ("relative", "a/b/hook"), ("a/up", "../a/./b//hook"), ("folder", "a/b"),
      ("chain", "folder/../up"),
      ("a/b/root", "/../.." + folder.path + "/relative"),
    ] { try folder.link(link, to: target) }
    for path in ["absolute", "relative", "a/up", "folder/hook", "chain", "a/b/root", "a//b/../b/hook"] {
      #expect(walk(folder.file(path)) == .success(hook), "\(path)")
    }
    for path in ["/", "//", "/..", "/tmp/../", "/usr/.."] { #expect(walk(path) == .success("/"), "\(path)") }
    // If the path goes on after a slash, the part before it must be a folder.
    for end in ["/", "/.", "/..", "/x"] {
      guard case .failure(.failed(_, let error)) = walk(hook + end) else {
        Issue.record("\(end) is accepted")
        continue
      }
      #expect(error.code == ENOTDIR, "\(end)")
    }
    #expect(walk(folder.file("folder") + "/") == .success(folder.file("a/b")))
  }

  @Test func `a name with a combining character after the slash is a name of its own`() throws {
    let folder = try folder()
    try folder.makeFolder("a/\u{308}")
    #expect(walk(folder.file("a/\u{308}/../b")) == .success(folder.file("a/b")))
    #expect(walk(folder.file("a/\u{308}")) == .success(folder.file("a/\u{308}")))
  }

  @Test func `a relative path begins at the current folder, whose own way counts`() throws {
    let current = try #require(FileDescriptor.target(ofLink: "/proc/self/cwd"))
    #expect(walk(".") == walk(current))
    #expect(walk("") == .failure(.failed(path: "", SystemError(operation: "openat", code: ENOENT))))
  }

  @Test func `there is an end to links`() throws {
    let folder = try folder()
    try folder.link("self", to: "self")
    try folder.link("0", to: "a/b/hook")
    for number in 1...40 { try folder.link("\(number)", to: "\(number - 1)") }
    #expect(walk(folder.file("39")) == .success(folder.file("a/b/hook")))
    for path in ["self", "40"] {
      #expect(
        walk(folder.file(path))
          == .failure(.failed(path: folder.file(path), SystemError(operation: "openat", code: ELOOP))))
    }
  }

  @Test func `what others can write to is not trusted, wherever it is on the way`() throws {
    let folder = try folder()
    try folder.link("a/link", to: "../other/hook")
    for mode in [0o775, 0o757, 0o777] as [mode_t] {
      for (path, target) in [("a", "a/b/hook"), ("a/b", "a/b/hook"), ("a/b/hook", "a/b/hook"), ("a", "a/link")] {
        try setMode(mode, of: folder.file(path))
        #expect(walk(folder.file(target)) == .failure(.othersCanWrite(path: folder.file(path))))
        try setMode(0o755, of: folder.file(path))
      }
    }
    #expect(walk(folder.file("a/link")) == .success(folder.file("other/hook")))
    // A sticky folder at the end of a path is also refused, but with another reason, because it must stay as it is.
    #expect(walk("/tmp") == .failure(.isShared(path: "/tmp")))
  }

  @Test(.enabled(if: isRoot, "only root gives files away"))
  func `what belongs to another user is not trusted, wherever it is on the way`() throws {
    let folder = try folder()
    for link in ["link", "a/b/link"] { try folder.link(link, to: folder.file("other/hook")) }
    try folder.link("upper", to: "a/b")
    for (given, targets) in [
      ("a", ["a/b/hook", "a/b/link", "upper/hook", "upper/link", "a/../other/hook"]),
      ("a/b", ["a/b/hook", "a/b/link", "upper/hook", "upper/link", "a/b/../../other/hook"]), ("a/b/hook", ["a/b/hook"]),
      ("other", ["link", "upper/link", "other/hook"]), ("other/hook", ["link", "other/hook"]),
    ] {
      for user in [Self.stranger, 65_534] {
        try give(folder.file(given), to: user)
        for target in targets {
          #expect(walk(folder.file(target)) == .failure(.belongsToOthers(path: folder.file(given))), "\(target)")
        }
      }
      try give(folder.file(given), to: 0)
    }
    // Nobody can change a link, and nobody else can write to its folder.
    try give(folder.file("link"))
    #expect(walk(folder.file("link")) == .success(folder.file("other/hook")))
  }

  @Test(.enabled(if: isRoot, "only root gives files away"))
  func `a folder that others can write to is passed only if it is root's and sticky`() throws {
    let folder = try folder()
    try folder.link("a/link", to: "../other/hook")
    try folder.write("", to: "a/file")
    func expect(
      _ name: String, _ expected: Result<String, TrustedPath.Fault>, _ place: SourceLocation = #_sourceLocation
    ) {
      #expect(walk(folder.file("a/\(name)")) == expected, sourceLocation: place)
    }
    // The folder has the mode of /tmp.
    try setMode(0o1777, of: folder.file("a"))
    expect("b/hook", .success(folder.file("a/b/hook")))
    for name in ["link", "file"] { expect(name, .failure(.isShared(path: folder.file("a")))) }
    // The folder has the mode of /nix/store. Only the users that build packages can write to it.
    try setMode(0o1775, of: folder.file("a"))
    expect("b/hook", .success(folder.file("a/b/hook")))
    expect("link", .success(folder.file("other/hook")))
    expect("file", .success(folder.file("a/file")))
    expect("", .failure(.othersCanWrite(path: folder.file("a"))))
    for mode in [0o1777, 0o1775] as [mode_t] {
      try setMode(mode, of: folder.file("a"))
      for (name, end) in [("b", "/hook"), ("link", ""), ("file", "")] {
        try give(folder.file("a/\(name)"))
        expect(name + end, .failure(.belongsToOthers(path: folder.file("a/\(name)"))))
        try give(folder.file("a/\(name)"), to: 0)
      }
      try give(folder.file("a"))
      expect("b/hook", .failure(.belongsToOthers(path: folder.file("a"))))
      try give(folder.file("a"), to: 0)
    }
  }

  @Test func `folders are created with a mode, the last one too`() throws {
    let folder = try folder()
    #expect(walk(folder.file("new/er/est"), creatingFolders: 0o700) == .success(folder.file("new/er/est")))
    #expect(try TrustedPath(folder.file("new/er")).status.st_mode & 0o7777 == 0o700)
    #expect(walk(folder.file("a"), creatingFolders: 0o700) == .success(folder.file("a")))
    #expect(try TrustedPath(folder.file("a")).status.st_mode & 0o7777 == 0o755)
    try setMode(0o777, of: folder.file("a"))
    #expect(
      walk(folder.file("a/new"), creatingFolders: 0o700) == .failure(.othersCanWrite(path: folder.file("a"))))
    #expect(unsafe access(folder.file("a/new"), F_OK) != 0)
    guard case .failure(.failed(let path, let error)) = walk("/proc/new", creatingFolders: 0o700) else {
      Issue.record("a folder in /proc")
      return
    }
    #expect(path == "/proc/new" && error.code == ENOENT)
  }

  @Test func `the descriptor is that of the file, and no child gets it`() throws {
    let folder = try folder()
    let hook = try TrustedPath(folder.file("a/b/hook"))
    var named = stat()
    #expect(unsafe stat(folder.file("a/b/hook"), &named) == 0 && named.st_ino == hook.status.st_ino)
    #expect(fcntl(hook.descriptor.rawValue, F_GETFD) == FD_CLOEXEC)
    #expect(hook.isFile && !hook.isFolder)
    let place = try TrustedPath(folder.file("a/b"))
    let number = unsafe openat(place.descriptor.rawValue, "hook", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    #expect(number >= 0)
    close(number)
  }
}
