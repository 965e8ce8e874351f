import HTTPTypes
import Netwatch

/// One header field as a person writes it.
struct HeaderField: Hashable, Sendable {
  let name: HTTPField.Name
  let value: String

  init(_ text: String) throws(Refusal) {
    guard let colon = text.firstIndex(of: ":") else {
      throw Refusal("A header field is written as 'Name: value'.")
    }
    guard let name = HTTPField.Name(String(text[..<colon])) else {
      throw Refusal("A header field's name has letters, digits and dashes alone.")
    }
    self.name = name
    value = String(text[text.index(after: colon)...].drop { $0 == " " })
    guard !value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\t" }) else {
      throw Refusal("The value of \(name) has a control character in it.")
    }
    guard name != .range, name != .ifRange else {
      throw Refusal("get says by itself which part it wants; leave out \(name).")
    }
  }
}
