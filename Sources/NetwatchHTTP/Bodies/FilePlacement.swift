import CLinux
import Glibc

/// Puts a file that is whole into its place.
enum FilePlacement {
  /// - Parameter replacesExisting: whether a file that is there is replaced, at once. Otherwise it is an error.
  static func move(_ path: String, to name: String, replacesExisting: Bool) throws(HTTPError) {
    let flags = replacesExisting ? 0 : netwatch_rename_noreplace
    if unsafe renameat2(AT_FDCWD, path, AT_FDCWD, name, flags) == 0 { return }
    // What NFS, sshfs and others say to the flag.
    guard !replacesExisting, errno == EINVAL, moveByNames(path, to: name) else {
      throw HTTPError(file: name, "rename to")
    }
  }

  /// A second name is refused where there is a file, too.
  private static func moveByNames(_ path: String, to name: String) -> Bool {
    if unsafe link(path, name) == 0 {
      _ = unsafe unlink(path)
      return true
    }
    guard errno != EEXIST else { return false }
    // Nor are there second names: a file that comes just now would be replaced.
    guard unsafe access(name, F_OK) != 0 else {
      errno = EEXIST
      return false
    }
    return unsafe rename(path, name) == 0
  }
}
