import Netwatch

extension CaseIterable where Self: RawRepresentable<String> & SendableMetatype {
  package static var names: [String] { allCases.map(\.rawValue) }
  package static var list: String { names.joined(separator: ", ") }

  /// Returns the value with a name, for an option.
  ///
  /// - Throws: A `PlainError` that names the possible values, or the one that was probably meant.
  @Sendable package static func named(_ name: String) throws(PlainError) -> Self {
    guard let value = Self(rawValue: name) else { throw PlainError(unknown: name, of: names) }
    return value
  }
}

extension PlainError {
  /// Creates the end of a sentence about an unknown name: the name that was probably meant, or all possible ones.
  package init(unknown name: String, of names: [String]) {
    self.init(
      names.nearest(to: name).map { "did you mean \($0)?" }
        ?? "the possible values are \(names.joined(separator: ", ")).")
  }
}

extension [String] {
  /// Returns the name that a mistyped name was probably meant to be; nil if none is similar.
  package func nearest(to typed: String) -> String? {
    let typed = typed.lowercased()
    if typed.count > 1, let longer = first(where: { $0.hasPrefix(typed) }) { return longer }
    let near = map { (name: $0, distance: typed.distance(to: $0)) }.min { $0.distance < $1.distance }
    guard let near, near.distance <= Swift.max(1, near.name.count / 3) else { return nil }
    return near.name
  }
}

extension String {
  /// Returns how many letters have to be inserted, removed, changed or swapped with the next one: the distance of Damerau and
  /// Levenshtein, in which no letter is changed twice.
  fileprivate func distance(to other: String) -> Int {
    let (own, other) = (Array(self), Array(other))
    var (former, row) = ([Int](), Array(0...other.count))
    for line in own.indices {
      var next = [line + 1]
      for column in other.indices {
        var least = Swift.min(
          row[column] + (own[line] == other[column] ? 0 : 1), row[column + 1] + 1, next[column] + 1)
        if line > 0, column > 0, own[line] == other[column - 1], own[line - 1] == other[column] {
          least = Swift.min(least, former[column - 1] + 1)
        }
        next.append(least)
      }
      (former, row) = (row, next)
    }
    return row[other.count]
  }
}
