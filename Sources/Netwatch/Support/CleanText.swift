/// Links, networks and files may be named by strangers, and servers have words of their own: nothing in them may steer the
/// terminal or turn the direction of writing.
package func clean(_ text: String) -> String {
  var result = ""
  for scalar in text.unicodeScalars {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: result += "?"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result
}
