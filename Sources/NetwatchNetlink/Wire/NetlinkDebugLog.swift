import CLibNetlink
import Glibc
import Netwatch
import NetwatchEventLoop

/// `NETWATCH_DEBUG=netlink`: each message of a socket on stderr, in words and with its bytes.
struct NetlinkDebugLog {
  private let source: String
  private let describe: (NetlinkFrame, RawSpan) -> String

  /// Nil unless the environment asks for it.
  ///
  /// - Parameters:
  ///   - source: what the socket's messages are.
  ///   - describe: what a message says, in words.
  init?(_ source: String, _ describe: @escaping (NetlinkFrame, RawSpan) -> String) {
    guard Self.isAskedFor("netlink") else { return nil }
    self.source = source
    self.describe = describe
  }

  /// Whether `NETWATCH_DEBUG` has a topic among its own, with commas between them.
  static func isAskedFor(_ topic: String) -> Bool {
    String(environment: "NETWATCH_DEBUG")?.split(separator: ",").contains { $0 == topic } ?? false
  }

  func print(_ frame: NetlinkFrame, _ bytes: RawSpan) {
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

  private func text(_ frame: NetlinkFrame, _ bytes: RawSpan) -> String {
    switch frame.kind {
    case .payload: describe(frame, bytes)
    case .done: "done"
    case .error(let code): unsafe code == 0 ? "acknowledged" : "error \(code) (\(String(cString: strerror(code))))"
    case .overrun: "overrun"
    }
  }
}
