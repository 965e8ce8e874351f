extension Int64 {
  /// The number of bytes in at most seven columns: `512 B`, `1.2 kB`, `31.0 MB`, `310 MB`.
  var asBytes: String {
    var (value, unit) = (self, "B")
    for next in ["kB", "MB", "GB", "TB", "PB", "EB"] where value >= 1_000 {
      // A value below a hundred has one decimal. It is not rounded up, so that the text never shows more than there is.
      if value < 100_000 || next == "EB" {
        return "\(value / 1_000).\(value % 1_000 / 100) \(next)"
      }
      value /= 1_000
      unit = next
    }
    return "\(value) \(unit)"
  }
}

extension Duration {
  /// The duration as a clock or in days: `0:08`, `12:34`, `3:04:05`, `4 d`.
  var asClock: String {
    let seconds = max(0, components.seconds)
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    if seconds >= 100 * 3_600 { return "\(seconds / 86_400) d" }
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60)
    return hours > 0 ? "\(hours):\(two(minutes)):\(two(seconds % 60))" : "\(minutes):\(two(seconds % 60))"
  }
}
