import Netwatch

/// The last samples of a link's traffic, with both directions added, as a row of small bars.
struct TrafficGraph: Hashable {
  static let width = 8
  /// The lowest rate that can fill a bar, in bits per second, so that background traffic does not look like work.
  private static let smallestTop: UInt64 = 100_000

  /// The samples in bits per second, the newest last.
  private var samples: [UInt64] = []

  mutating func add(_ traffic: LinkTraffic?) {
    if samples.count == Self.width { samples.removeFirst() }
    let (sum, isTooMuch) = (traffic?.receivedBitsPerSecond ?? 0).addingReportingOverflow(
      traffic?.sentBitsPerSecond ?? 0)
    samples.append(isTooMuch ? .max : sum)
  }

  /// Appends a mark for each sample, and the lowest mark for each sample that is still missing.
  func write(to buffer: inout LineBuffer, _ marks: [StaticString]) {
    guard let lowest = marks.first else { return }
    for _ in samples.count..<Self.width { buffer.append(lowest) }
    let top = Double(max(samples.max() ?? 0, Self.smallestTop))
    for sample in samples {
      let level = (Double(sample) / top * Double(marks.count - 1)).rounded(.up)
      buffer.append(marks[min(Int(level), marks.count - 1)])
    }
  }
}
