import Foundation

/// The folder that `contrib/lint schemas` looks into; nil if nobody asks for lines.
private let keptLines = ProcessInfo.processInfo.environment["NETWATCH_TEST_LINES"]

/// Keeps a JSON line of netwatch for `contrib/lint schemas`, which holds it against a schema of contrib.
///
/// - Parameter schema: `event`, `explain` or `log`.
package func keepLine(_ line: String, of schema: String) {
  guard let keptLines else { return }
  let descriptor = unsafe open(
    "\(keptLines)/\(schema).jsonl", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode_t(0o644))
  defer { close(descriptor) }
  var text = line.hasSuffix("\n") ? line : line + "\n"
  // In one piece: other tests write too.
  text.withUTF8 { bytes in _ = unsafe write(descriptor, bytes.baseAddress, bytes.count) }
}
