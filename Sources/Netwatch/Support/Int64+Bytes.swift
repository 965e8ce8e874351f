extension Int64 {
  /// The number of bytes for people, in at most seven columns: `512 B`, `1.2 kB`, `31.0 MB`, `310 MB`. A negative number counts
  /// as 0.
  package var asBytes: String {
    var (value, unit) = (Swift.max(self, 0), "B")
    for next in ["kB", "MB", "GB", "TB", "PB", "EB"] where value >= 1_000 {
      // A value below a hundred has one decimal. It is not rounded up, so that the text never shows more than there is.
      if value < 100_000 || next == "EB" { return "\(value / 1_000).\(value % 1_000 / 100) \(next)" }
      value /= 1_000
      unit = next
    }
    return "\(value) \(unit)"
  }
}
