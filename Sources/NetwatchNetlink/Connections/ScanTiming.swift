import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The timing of each scan of the TCP connections, for `NETWATCH_DEBUG=looks`. It is written to stderr.
struct ScanTiming {
  var connections = 0
  private var parts = 0
  private var whole: Int64 = 0
  private var longest: Int64 = 0
  private var partBegan: Int64 = 0

  /// Returns a timing if the environment asks for it; else nil.
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
    // The work at the end of the scan is also part of it.
    endPart()
    var line = LineBuffer()
    line.append(
      text: "netwatch: look: \(connections) connections, \(inFlight) in flight, \(whole / 1_000) us in \(parts) parts, "
        + "the longest \(longest / 1_000) us\n")
    line.withBytes { try? FileDescriptor.writeAll($0, to: STDERR_FILENO) }
  }
}
