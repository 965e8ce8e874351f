import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// One line that the writer reads: a line of the stream, to which netwatch has added what only the log needs.
package struct LogLine: Sendable {
  package enum Content: Sendable {
    /// The path, and how many changes are merged into it.
    case change(LogState, count: Int64)
    /// What the link that carries the traffic has received and sent since its counter began.
    case traffic(LinkTraffic)
  }

  package let moment: LogMoment
  package let content: Content

  /// Reads a line without its newline.
  ///
  /// - Parameters:
  ///   - line: the bytes.
  ///   - now: the present, which tells how long the machine has been suspended if the line does not.
  /// - Returns: nil for a line that is not one of the stream, and for one that the log does not store.
  package init?(_ line: ArraySlice<UInt8>, now: LogMoment) {
    guard let value = JSONValue(line), let record = EventRecord(value) else { return nil }
    let monotonic = record.monotonicNanoseconds / 1_000
    let boot = value["log"]?["boot_ns"]?.integer(in: 0...Int64.max).map { $0 / 1_000 }
    moment = LogMoment(
      wall: record.nanosecondsSince1970 / 1_000, monotonic: monotonic,
      boot: boot ?? monotonic.addingSaturated(now.suspended))
    switch record.event {
    case .initial, .reachability:
      let count = value["log"]?["changes"]?.integer(in: 1...Int64(Int32.max)) ?? 1
      content = .change(LogState(record.path, reason: record.reason), count: count)
    case .traffic:
      guard let traffic = record.carrierTraffic else { return nil }
      content = .traffic(traffic)
    case .activity, .interfaces, .wifi, .quality, .stages: return nil
    }
  }
}
