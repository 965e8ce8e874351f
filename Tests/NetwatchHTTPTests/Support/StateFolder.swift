import Glibc
import NetwatchTestSupport

/// The folder of the user's state for the tests of this process, in which they find the spools of transfers.
enum StateFolder {
  private static let folder = Result {
    let folder = try TemporaryFolder()
    unsafe setenv("XDG_STATE_HOME", folder.path, 1)
    unsafe unsetenv("XDG_RUNTIME_DIR")
    return folder
  }

  /// Has the environment of the process name the folder.
  static func use() throws { _ = try folder.get() }
}
