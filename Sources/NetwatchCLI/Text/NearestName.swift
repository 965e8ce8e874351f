import ArgumentParser

extension CaseIterable where Self: RawRepresentable<String> & SendableMetatype {
  static var names: [String] { allCases.map(\.rawValue) }
  static var list: String { names.joined(separator: ", ") }

  /// Returns the value with a name. Options use this if they have too many names for the parser to list in one sentence.
  ///
  /// - Throws: A `ValidationError` if there is no such name.
  @Sendable static func named(_ name: String) throws -> Self {
    guard let value = Self(rawValue: name) else { throw ValidationError(unknown: name, of: names) }
    return value
  }
}

extension ValidationError {
  /// - Parameter option: The option that has the name as its value. Default: nil, because the parser names the option.
  init(unknown name: String, of names: [String], for option: String? = nil) {
    let all = "the possible values are \(names.joined(separator: ", "))."
    let advice = names.nearest(to: name).map { "did you mean \($0)?" } ?? all
    self.init(option.map { "The value '\(name.harmless)' is invalid for '\($0)': \(advice)" } ?? advice)
  }
}

extension [String] {
  /// Returns the name that a mistyped name was probably meant to be; nil if none is similar.
  func nearest(to typed: String) -> String? {
    let typed = typed.lowercased()
    if typed.count > 1, let longer = first(where: { $0.hasPrefix(typed) }) { return longer }
    let near = map { (name: $0, distance: typed.distance(to: $0)) }.min { $0.distance < $1.distance }
    guard let near, near.distance <= Swift.max(1, near.name.count / 3) else { return nil }
    return near.name
  }
}

extension String {
  /// Returns how many letters have to be inserted, removed or changed.
  fileprivate func distance(to other: String) -> Int {
    let other = Array(other)
    var row = Array(0...other.count)
    for (line, letter) in enumerated() {
      var diagonal = row[0]
      row[0] = line + 1
      for (column, its) in other.enumerated() {
        let changed = diagonal + (letter == its ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = Swift.min(changed, diagonal + 1, row[column] + 1)
      }
    }
    return row[other.count]
  }
}
