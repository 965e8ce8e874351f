import Foundation
import NetwatchTestSupport

extension TemporaryFolder {
  private static let atExit = Box<[String]>([])

  /// Removes the folder when the process ends, for what is made once and used by many tests: it does not go before.
  func removeAtExit() {
    let isFirst = Self.atExit.changed { paths in
      paths.append(path)
      return paths.count == 1
    }
    guard isFirst else { return }
    atexit { for path in TemporaryFolder.atExit.now { try? FileManager.default.removeItem(atPath: path) } }
  }
}
