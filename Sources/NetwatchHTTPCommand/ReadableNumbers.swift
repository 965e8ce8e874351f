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
