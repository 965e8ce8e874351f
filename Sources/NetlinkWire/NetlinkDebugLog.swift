import CLibNetlink
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The log for `NETWATCH_DEBUG=netlink`: each message of a socket on stderr, in words and as bytes.
package struct NetlinkDebugLog {
  private let source: String
  private let describe: (NetlinkMessage, RawSpan) -> String

  /// Creates a log. Nil unless the environment asks for it.
  ///
  /// - Parameters:
  ///   - source: The name of the socket's messages.
  ///   - describe: The closure that describes a message in words.
  package init?(_ source: String, _ describe: @escaping (NetlinkMessage, RawSpan) -> String) {
    guard Self.isAskedFor("netlink") else { return nil }
    self.source = source
    self.describe = describe
  }

  /// Returns whether the topics in `NETWATCH_DEBUG`, which are separated by commas, include this one.
  package static func isAskedFor(_ topic: String) -> Bool {
    String(environment: "NETWATCH_DEBUG")?.split(separator: ",").contains { $0 == topic } ?? false
  }

  func print(_ frame: NetlinkMessage, _ bytes: RawSpan) {
    var line = LineBuffer()
    line.append(text: "netwatch: netlink \(source) type \(frame.type) seq \(frame.sequence)")
    if frame.isInterrupted { line.append(" interrupted") }
    line.append(text: ": \(text(frame, bytes))\n  \(frame.record.count) bytes:")
    for offset in frame.record {
      line.append(" ")
      line.appendHex(UInt16(bytes.load(offset, as: UInt8.self)), digits: 2)
    }
    line.append("\n")
    line.withBytes { try? FileDescriptor.writeAll($0, to: STDERR_FILENO) }
  }

  private func text(_ frame: NetlinkMessage, _ bytes: RawSpan) -> String {
    switch frame.kind {
    case .payload: describe(frame, bytes)
    case .done: "done"
    case .error(let code): unsafe code == 0 ? "acknowledged" : "error \(code) (\(String(cString: strerror(code))))"
    case .overrun: "overrun"
    }
  }
}
