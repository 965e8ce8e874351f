import Foundation

/// The folder in which lines are kept for `contrib/lint schemas`; nil if `NETWATCH_TEST_LINES` is not set.
private let keptLines = ProcessInfo.processInfo.environment["NETWATCH_TEST_LINES"]

/// Appends a JSON line of netwatch to a file from which `contrib/lint schemas` checks it against a schema.
///
/// Does nothing unless `NETWATCH_TEST_LINES` names a folder.
///
/// - Parameters:
///   - line: The line, with or without a newline at its end.
///   - schema: The name of the schema: `event`, `explain`, `log` or `transfers`.
package func keepLine(_ line: String, of schema: String) {
  guard let keptLines else { return }
  let descriptor = unsafe open(
    "\(keptLines)/\(schema).jsonl", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode_t(0o644))
  defer { close(descriptor) }
  var text = line.hasSuffix("\n") ? line : line + "\n"
  // The line is written in one piece, because other tests append to the same file at the same time.
  text.withUTF8 { bytes in _ = unsafe write(descriptor, bytes.baseAddress, bytes.count) }
}
