import Netwatch

/// The log in the format for people.
///
/// ```
/// 2026-11-24 14:02:11+01:00  * wifi           wlan0         "Home", route up
/// 2026-11-24 14:05:40+01:00  - not reachable                no carrier
/// ```
package final class LogText {
  /// Whether the terminal shows characters beyond ASCII.
  private let isUnicode: Bool
  /// The cached texts of states, which follow the date. A year has some hundred different states, each of them many times.
  private var words: [LogState: String] = [:]

  /// Creates a converter with an empty cache.
  ///
  /// - Parameter isUnicode: Whether the terminal shows characters beyond ASCII.
  package init(isUnicode: Bool) { self.isUnicode = isUnicode }

  /// Returns an entry as one line, without a newline.
  package func line(_ entry: LogEntry) -> String {
    switch entry.content {
    case .suspend(let length):
      return "\(date(entry.moment.wall))  \(isUnicode ? "☾" : "z") suspended for \(length.asDuration)"
    case .change(let state, let count, let losses):
      let text = words[state] ?? words(state)
      words[state] = text
      return "\(date(entry.moment.wall))  \(text)\(count > 1 ? ", \(count) changes in one" : "")"
        + (losses > (state.isOutage ? 1 : 0) ? ", carrier lost \(losses) \(losses == 1 ? "time" : "times")" : "")
        + (entry.note.map { ", \($0.sanitizedForTerminal)" } ?? "")
    }
  }

  private func words(_ state: LogState) -> String {
    let details = [
      state.ssid.map { quoted($0.text) }, state.isExpensive ? "expensive" : nil,
      state.vpn.isEmpty ? nil : "through \(state.vpn.sanitizedForTerminal)",
      // Nothing has changed; it is the first thing that was seen.
      state.reason == ReachabilityReason.initial.rawValue ? "watching began" : state.reason.words.sanitizedForTerminal,
    ].compactMap { $0 }
    return
      "\(mark(state.status)) \(padded(Self.word(state), 13))  \(padded(state.interface.sanitizedForTerminal, 12))  "
      + details.joined(separator: ", ")
  }

  /// Returns an outage as one line, without a newline.
  package func line(_ outage: Outage) -> String {
    let path = outage.lost?.networkName.map { quoted($0) }
    let unseen = outage.isBeginningSeen ? nil : "beginning not seen"
    let details = [
      path, outage.reason.words.sanitizedForTerminal, outage.flapWords, outage.note?.sanitizedForTerminal, unseen,
    ]
    .compactMap { $0 }.joined(separator: ", ")
    return "\(date(outage.began))  \(mark(.notReachable)) \(outage.lengthWords)  \(details)"
  }

  /// Returns the bytes of a period as one line, without a newline.
  package func line(_ traffic: PeriodTraffic) -> String {
    let bytes = [traffic.received, traffic.sent].map { bytes in
      String(repeating: " ", count: max(7 - bytes.asBytes.count, 0)) + bytes.asBytes
    }
    return
      "\(traffic.name)  \(padded(traffic.interface.sanitizedForTerminal, 15))  \(bytes[0]) received  \(bytes[1]) sent"
  }

  /// Returns a sentence about the bytes of all periods.
  package func summary(_ traffic: [PeriodTraffic]) -> String {
    guard !traffic.isEmpty else { return "No bytes were counted in this time; --traffic beside --log counts them." }
    let received = traffic.reduce(Int64(0)) { $0.addingSaturated($1.received) }
    let sent = traffic.reduce(Int64(0)) { $0.addingSaturated($1.sent) }
    return "\(received.asBytes) received, \(sent.asBytes) sent"
  }

  /// Returns a sentence with the number of outages, their total time, and the availability.
  package func summary(_ history: LogHistory) -> String {
    let times = LogTimes(history.spans)
    guard let availability = times.availability else { return "Nothing was watched in this time." }
    let count = history.outages.count
    let sleep = times.suspended > 0 ? ", suspended for \(times.suspended.asDuration)" : ""
    return "\(count) \(count == 1 ? "outage" : "outages"), \(times.notReachable.asDuration); reachable for "
      + "\(availability.asPercent) of \(times.watched.asDuration) that were watched\(sleep)"
  }

  private static func word(_ state: LogState) -> String {
    state.status == .wifi ? state.medium?.rawValue ?? "wifi" : state.status.rawValue.words
  }

  private func date(_ wall: Int64) -> String { LocalTime(wall).dateAndTime }

  private func mark(_ status: ReachabilityStatus) -> String {
    switch status {
    case .wifi, .wwan: isUnicode ? "●" : "*"
    case .notReachable: isUnicode ? "○" : "-"
    case .unknown: "?"
    }
  }

  private func quoted(_ text: String) -> String {
    isUnicode ? "“\(text.sanitizedForTerminal)”" : "\"\(text.sanitizedForTerminal)\""
  }

  private func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(width - text.count, 0))
  }
}

extension Int64 {
  /// The microseconds as a duration for people, such as `50 ms`, `12.3 s`, `4 min 5 s`, `3 h 12 min` or `2 d 4 h`.
  package var asDuration: String {
    let milliseconds = Swift.max(self, 0) / 1_000
    let seconds = milliseconds / 1_000
    return switch seconds {
    case 0: "\(milliseconds) ms"
    case ..<60: "\(seconds).\(milliseconds % 1_000 / 100) s"
    case ..<3_600: "\(seconds / 60) min \(seconds % 60) s"
    case ..<86_400: "\(seconds / 3_600) h \(seconds / 60 % 60) min"
    default: "\(seconds / 86_400) d \(seconds / 3_600 % 24) h"
    }
  }
}

extension Double {
  /// The fraction as a percentage for people, with two digits after the point, such as `99.98 %`. It is rounded down, so that
  /// only the whole is 100.
  package var asPercent: String {
    let hundredths = Int((Swift.min(Swift.max(self, 0), 1) * 10_000).rounded(.down))
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest) %"
  }
}

extension Outage {
  /// How often the carrier was lost, for people; nil unless it was more than once.
  package var flapWords: String? { carrierLosses > 1 ? "carrier lost \(carrierLosses) times" : nil }

  /// The duration of the outage, for people.
  package var lengthWords: String {
    switch ending {
    case .seen where length == 0 && carrierLosses > 0: "too short to measure"
    case .seen: length.asDuration
    case .unseen: "at least \(length.asDuration), end not seen"
    case .ongoing: "\(length.asDuration) so far"
    }
  }
}
