// The standard library has these in its module of regular expressions, which makes each static program 1.2 MB larger. So programs
// are compiled without that module (contrib/common.sh), and these stand in for it.

extension StringProtocol {
  /// Returns where another text first occurs in this one; nil if it does not. An empty text occurs at the beginning.
  package func firstRange(of other: String) -> Range<Index>? {
    let wanted = Array(other.utf8)
    var start = startIndex
    while !utf8[start...].starts(with: wanted) {
      guard start < endIndex else { return nil }
      utf8.formIndex(after: &start)
    }
    return start..<utf8.index(start, offsetBy: wanted.count)
  }

  /// Whether another text occurs in this one.
  package func contains(_ other: String) -> Bool { firstRange(of: other) != nil }

  /// Returns the text with another one in place of each occurrence of a third, which must not be empty.
  package func replacing(_ other: String, with replacement: String) -> String {
    var result = ""
    var rest = self[...]
    while !other.isEmpty, let range = rest.firstRange(of: other) {
      result += rest[..<range.lowerBound] + replacement
      rest = rest[range.upperBound...]
    }
    return result + rest
  }
}
