import Glibc
import Netwatch
import NetwatchEventLoop

/// `NETWATCH_DEBUG=looks`: what each scan of the TCP connections has cost, on stderr.
struct ScanTiming {
  var connections = 0
  private var parts = 0
  private var whole: Int64 = 0
  private var longest: Int64 = 0
  private var partBegan: Int64 = 0

  /// Nil unless the environment asks for it.
  static func fromEnvironment() -> ScanTiming? { NetlinkDebugLog.isAskedFor("looks") ? ScanTiming() : nil }

  mutating func begin() {
    self = ScanTiming()
    beginPart()
  }

  mutating func beginPart() { partBegan = KernelClock.monotonic.nanoseconds }

  mutating func endPart() {
    let time = KernelClock.monotonic.nanoseconds - partBegan
    parts += 1
    whole += time
    longest = max(longest, time)
  }

  mutating func end(inFlight: Int) {
    // What was worked out at the end is part of it.
    endPart()
    var line = LineBuffer()
    line.append(
      text: "netwatch: look: \(connections) connections, \(inFlight) in flight, \(whole / 1_000) us in \(parts) parts, "
        + "the longest \(longest / 1_000) us\n")
    line.withBytes { try? FileDescriptor.writeAll($0, to: STDERR_FILENO) }
  }
}
