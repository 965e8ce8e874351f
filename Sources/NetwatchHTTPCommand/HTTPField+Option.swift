import HTTPTypes
import Netwatch

extension HTTPField {
  /// Creates a header field from the text of an option: `Name: value`.
  init(option text: String) throws(PlainError) {
    guard let colon = text.firstIndex(of: ":") else {
      throw PlainError("A header field is written as 'Name: value'.")
    }
    guard let name = HTTPField.Name(String(text[..<colon])) else {
      throw PlainError("A header field's name has letters, digits and dashes alone.")
    }
    let value = String(text[text.index(after: colon)...].drop { $0 == " " })
    guard !value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\t" }) else {
      throw PlainError("The value of \(name) has a control character in it.")
    }
    guard name != .range, name != .ifRange else {
      throw PlainError("get says by itself which part it wants; leave out \(name).")
    }
    self.init(name: name, value: value)
  }
}
