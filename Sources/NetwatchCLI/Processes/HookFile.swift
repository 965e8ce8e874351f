import Glibc
import Netwatch
import NetwatchEventLoop

/// A file that may run as a hook: only root and the user of this process can change or replace it, and can change the way to it.
struct HookFile {
  /// The path that was given.
  let name: String
  /// The absolute path without links, which nobody else can lead elsewhere. See ``TrustedPath``.
  let program: String

  /// Checks a file.
  ///
  /// - Throws: A `PlainError` that says what to do, if the file may not run.
  init(_ path: String) throws(PlainError) {
    let isFile: Bool
    do throws(TrustedPath.Fault) {
      let file = try TrustedPath(path)
      (program, isFile) = (file.path, file.isFile)
    } catch {
      if case .failed(_, let error) = error {
        throw PlainError("cannot look at the hook '\(path)': \(error.message)")
      }
      throw PlainError("the hook '\(path)' does not run, because \(error)")
    }
    guard isFile else {
      throw PlainError("the hook '\(path)' does not run, because it is not a file; move it elsewhere")
    }
    guard unsafe access(program, X_OK) == 0 else {
      throw PlainError("the hook '\(path)' does not run, because it is not executable; run: chmod +x '\(program)'")
    }
    name = path
  }
}
