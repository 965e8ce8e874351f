/// The words of a code of the stream.
func words(_ code: String) -> String {
  String(code.map { $0 == "_" || $0 == "-" ? " " : $0 })
}

/// A link may be named by a stranger: nothing in a name may steer the terminal or turn the direction of writing.
func clean(_ name: String) -> String {
  var result = ""
  for scalar in name.unicodeScalars {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: result += "?"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result
}
