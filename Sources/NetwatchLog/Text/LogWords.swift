import Netwatch

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

  /// The number of bytes for people, such as `512 B`, `1.2 kB` or `31.0 MB`.
  package var asBytes: String {
    var (value, unit) = (Swift.max(self, 0), "B")
    for next in ["kB", "MB", "GB", "TB", "PB", "EB"] where value >= 1_000 {
      if value < 100_000 || next == "EB" { return "\(value / 1_000).\(value % 1_000 / 100) \(next)" }
      value /= 1_000
      unit = next
    }
    return "\(value) \(unit)"
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

extension String {
  /// The words of a code of the stream, such as `no carrier` for `no_carrier`.
  package var words: String {
    String(
      decoding: utf8.map { $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
  }
}

extension Outage {
  /// The duration of the outage, for people.
  package var lengthWords: String {
    switch ending {
    case .seen: length.asDuration
    case .unseen: "at least \(length.asDuration), end not seen"
    case .ongoing: "\(length.asDuration) so far"
    }
  }
}
