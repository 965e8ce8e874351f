import Glibc

/// Why a service could not start, or could not be reached: one sentence.
package struct ServiceError: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String
  /// The system's error number; 0 where there is none.
  package let code: CInt

  init(_ description: String, code: CInt = 0) {
    self.description = description
    self.code = code
  }

  /// The error of the call that could not make the file at `path`.
  static func notMade(_ path: String) -> ServiceError {
    let code = errno
    let advice = code == ENOENT ? "make its folder, or name another socket" : "name another socket"
    return unsafe ServiceError(
      "can not make \(path): \(String(cString: strerror(code))); \(advice) with --socket", code: code)
  }
}
