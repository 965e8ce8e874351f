import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// One line that the writer reads: a line of the stream, with additional data from netwatch for the log.
package struct LogLine: Sendable {
  /// The kind and data of a line.
  package enum Content: Sendable {
    /// The path, and the number of changes that are merged into it.
    case change(LogState, count: Int64)
    /// The bytes that the link that carries the path has received and sent since its counter began.
    case traffic(LinkTraffic)
  }

  /// The time of the line.
  package let moment: LogMoment
  /// The kind and data of the line.
  package let content: Content

  /// Reads a line without its newline. Nil if the line is not one of the stream, or not one that the log stores.
  ///
  /// - Parameters:
  ///   - line: The bytes of the line.
  ///   - now: The current time, for the time in suspend if the line does not have it.
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
