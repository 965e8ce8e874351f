import Foundation
import NetwatchTestSupport

extension TemporaryFolder {
  private static let atExit = Box<[String]>([])

  /// Removes the folder when the process ends. This is for a folder in a static property: its last reference is never
  /// released.
  func removeAtExit() {
    let isFirst = Self.atExit.changed { paths in
      paths.append(path)
      return paths.count == 1
    }
    guard isFirst else { return }
    atexit { for path in TemporaryFolder.atExit.now { try? FileManager.default.removeItem(atPath: path) } }
  }
}
