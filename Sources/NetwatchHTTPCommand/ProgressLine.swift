import Netwatch

/// The progress of a download as one line that fits the terminal:
/// `  42 % [====>      ]  13.2 MB of 31.0 MB  2.1 MB/s  0:08 left`.
struct ProgressLine {
  private static let leastBar = 10

  var received: Int64
  /// The length of the file; nil if the server has not sent it.
  var total: Int64?
  var bytesPerSecond: Double?
  var timeLeft: Duration?

  /// Returns a line that is shorter than `columns`. Many terminals continue on the next line after their last column is
  /// written.
  func text(columns: Int) -> String {
    let room = columns - 1
    guard let total else { return variants.first { $0.utf8.count <= room } ?? "" }
    for variant in variants {
      let barWidth = room - Self.percentWidth - variant.utf8.count - " []  ".utf8.count
      if barWidth >= Self.leastBar {
        return "\(percent(of: total)) [\(bar(of: total, width: barWidth))]  \(variant)"
      }
    }
    let short = variants.map { "\(percent(of: total))  \($0)" } + [percent(of: total)]
    return short.first { $0.utf8.count <= room } ?? ""
  }

  /// The texts beside the bar, the longest first.
  private var variants: [String] {
    let come = received.asBytes.leftPadded(to: 7)
    guard let total else {
      if received == 0 { return ["waiting for the server"] }
      return ["\(come)  \(rate)", come]
    }
    let both = "\(come) of \(total.asBytes)"
    let left = (timeLeft.map { "\($0.asClock) left" } ?? "").leftPadded(to: 12)
    return [[both, rate, left], [both, left], [both], [come]].map { $0.joined(separator: "  ") }
  }

  /// The rate. It takes up its place even if it is not known yet, so that the bar keeps its length.
  private var rate: String {
    (bytesPerSecond.map { "\(Int64(clamping: $0).asBytes)/s" } ?? "").leftPadded(to: 9)
  }

  // MARK: The whole is 100 %, and nothing else is

  private static let percentWidth = "100 %".utf8.count

  private func fraction(of total: Int64) -> Double {
    total > 0 ? min(1, Double(received) / Double(total)) : 1
  }

  private func percent(of total: Int64) -> String {
    let isWhole = received >= total
    return "\(isWhole ? 100 : min(99, Int(fraction(of: total) * 100))) %".leftPadded(to: Self.percentWidth)
  }

  private func bar(of total: Int64, width: Int) -> String {
    let filled = min(width, Int(fraction(of: total) * Double(width)))
    let line = String(repeating: "=", count: filled) + (filled < width ? ">" : "")
    return line + String(repeating: " ", count: width - line.utf8.count)
  }
}

extension Int64 {
  /// The nearest `Int64`; 0 if the value is NaN or negative.
  fileprivate init(clamping value: Double) {
    self = value.isNaN ? 0 : value >= 9.2e18 ? .max : value <= 0 ? 0 : Int64(value)
  }
}

extension String {
  fileprivate func leftPadded(to width: Int) -> String {
    String(repeating: " ", count: max(0, width - utf8.count)) + self
  }
}
