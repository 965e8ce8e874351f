import Netwatch

extension LineBuffer {
  /// Appends a JSON value. The members of an object are in the order of their keys.
  package mutating func append(_ value: JSONValue) {
    switch value {
    case .null: append("null")
    case .bool(let value): append(value ? "true" : "false")
    case .integer(let number): append(text: "\(number)")
    case .number(let number): append(text: "\(number)")
    case .string(let text): appendQuoted(text)
    case .array(let elements): appendList(elements, between: ("[", "]")) { $0.append($1) }
    case .object(let members):
      appendList(members.sorted { $0.key < $1.key }, between: ("{", "}")) { line, member in
        line.appendQuoted(member.key)
        line.append(":")
        line.append(member.value)
      }
    }
  }

  /// Appends what `append` writes for each element, with commas between the elements and `marks` around them.
  package mutating func appendList<Element>(
    _ elements: [Element], between marks: (StaticString, StaticString) = ("[", "]"),
    _ append: (inout LineBuffer, Element) -> Void
  ) {
    self.append(marks.0)
    for (position, element) in elements.enumerated() {
      if position > 0 { self.append(",") }
      append(&self, element)
    }
    self.append(marks.1)
  }
}
