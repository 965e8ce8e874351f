import Netwatch

extension OptionParser {
  /// Reads options as libnetwatch gets them: `name=value` or, for a flag, `name`.
  ///
  /// - Parameter options: The options of a table, of which those count that libnetwatch has.
  /// - Throws: A `PlainError` about the first option that is unknown or invalid.
  package static func read(
    libraryOptions words: [String], _ options: [Option<Values>], into values: inout Values
  ) throws(PlainError) {
    for word in words {
      let end = word.firstIndex(of: "=") ?? word.endIndex
      let name = String(word[..<end])
      let given = end < word.endIndex ? String(word[word.index(after: end)...]) : nil
      guard let option = options.first(where: { $0.about.isInLibrary && $0.about.name == "--\(name)" }) else {
        throw PlainError("there is no option '\(name.sanitizedForTerminal)'.")
      }
      var text = given
      switch option.about.argument {
      case .none:
        try option.store(&values, isOn(given ?? "yes", name) ? "yes" : "no")
        continue
      case .optional(_, let otherwise): text = given ?? otherwise
      case .value, .rest: break
      }
      guard let value = text, !value.isEmpty else { throw PlainError("\(name) needs a value; write \(name)=VALUE.") }
      if let need = option.need(value) { throw PlainError("\(name) needs \(need).") }
      do throws(PlainError) {
        try option.store(&values, value)
      } catch {
        throw PlainError("\(name): \(error.description)")
      }
    }
  }

  private static func isOn(_ value: String, _ name: String) throws(PlainError) -> Bool {
    switch value {
    case "yes", "true", "1": return true
    case "no", "false", "0": return false
    default: throw PlainError("\(name) is yes or no.")
    }
  }
}
