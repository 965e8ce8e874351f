import Foundation

/// A JSON Schema of draft 2020-12. A keyword that is not known here is an error, so that nothing goes unchecked.
package struct JSONSchema: Sendable {
  /// What is wrong with a schema.
  package struct Defect: Error, Hashable, CustomStringConvertible {
    package let description: String
  }

  fileprivate enum ValueType: String {
    case null, boolean, integer, number, string, array, object
  }

  fileprivate enum Rule {
    case type([ValueType])
    case oneOfValues([Value])
    case pattern(NSRegularExpression)
    case required([String])
    case properties([(name: String, schema: Node)])
    case items(Node)
    case minimum(Double)
    case maximum(Double)
    case allOf([Node])
    case anyOf([Node])
    case oneOf([Node])
    case not(Node)
    case condition(Node, then: Node, else: Node)
    case reference(String)
  }

  /// What one object of the schema demands.
  fileprivate struct Node {
    var rules: [Rule] = []
  }

  private let root: Node
  private let definitions: [String: Node]

  package init(_ text: Data) throws {
    var loader = Loader()
    root = try loader.node(Value(text), at: "#")
    definitions = loader.definitions
    for name in loader.references where definitions[name] == nil {
      throw Defect(description: "#/$defs/\(name) is referred to, but is not there")
    }
  }

  /// What is wrong with a value, each with its place; empty if nothing is.
  package func problems(_ value: Value) -> [String] { problems(value, root, at: "$") }
}

// MARK: Loading

extension JSONSchema {
  private struct Loader {
    private(set) var definitions: [String: Node] = [:]
    private(set) var references: Set<String> = []

    mutating func node(_ value: Value, at place: String) throws -> Node {
      let keywords = try object(value, at: place)
      var node = Node()
      for (keyword, value) in keywords.sorted(by: { $0.key < $1.key }) {
        if let rule = try rule(keyword, value, among: keywords, at: place) { node.rules.append(rule) }
      }
      return node
    }

    private mutating func rule(
      _ keyword: String, _ value: Value, among keywords: [String: Value], at parent: String
    ) throws -> Rule? {
      let place = "\(parent)/\(keyword)"
      switch keyword {
      case "$schema", "$id", "title", "description":
        _ = try string(value, at: place)
        return nil
      case "$defs" where parent == "#":
        for (name, schema) in try object(value, at: place) {
          definitions[name] = try node(schema, at: "\(place)/\(name)")
        }
        return nil
      case "$ref": return .reference(try reference(value, at: place))
      case "type": return .type(try types(value, at: place))
      case "const": return .oneOfValues([value])
      case "enum": return .oneOfValues(try array(value, at: place))
      case "pattern": return .pattern(try pattern(value, at: place))
      case "minimum": return .minimum(try number(value, at: place))
      case "maximum": return .maximum(try number(value, at: place))
      case "required": return .required(try array(value, at: place).map { try string($0, at: place) })
      case "properties":
        let properties = try object(value, at: place).sorted { $0.key < $1.key }
        return .properties(try properties.map { ($0.key, try node($0.value, at: "\(place)/\($0.key)")) })
      case "items": return .items(try node(value, at: place))
      case "allOf": return .allOf(try nodes(value, at: place))
      case "anyOf": return .anyOf(try nodes(value, at: place))
      case "oneOf": return .oneOf(try nodes(value, at: place))
      case "not": return .not(try node(value, at: place))
      case "if": return try condition(value, among: keywords, at: parent)
      case "then" where keywords["if"] != nil, "else" where keywords["if"] != nil: return nil
      default: throw Defect(description: "\(place) is not known here")
      }
    }

    private mutating func condition(
      _ value: Value, among keywords: [String: Value], at parent: String
    ) throws -> Rule {
      guard keywords["then"] != nil || keywords["else"] != nil else {
        throw Defect(description: "\(parent)/if decides nothing")
      }
      return .condition(
        try node(value, at: "\(parent)/if"),
        then: try keywords["then"].map { try node($0, at: "\(parent)/then") } ?? Node(),
        else: try keywords["else"].map { try node($0, at: "\(parent)/else") } ?? Node())
    }

    private mutating func reference(_ value: Value, at place: String) throws -> String {
      let prefix = "#/$defs/"
      let text = try string(value, at: place)
      guard text.hasPrefix(prefix) else { throw Defect(description: "\(place) does not begin with \(prefix)") }
      let name = String(text.dropFirst(prefix.count))
      references.insert(name)
      return name
    }

    private func types(_ value: Value, at place: String) throws -> [ValueType] {
      let names = if case .array = value { try array(value, at: place) } else { [value] }
      return try names.map { name in
        guard let type = ValueType(rawValue: try string(name, at: place)) else {
          throw Defect(description: "\(place): \(name) is not a type")
        }
        return type
      }
    }

    private func pattern(_ value: Value, at place: String) throws -> NSRegularExpression {
      let text = try string(value, at: place)
      // Only the whole of a text is ever matched: here `$` would let a newline at the end pass.
      guard text.hasPrefix("^"), text.hasSuffix("$") else {
        throw Defect(description: "\(place) does not stand between ^ and $")
      }
      return try NSRegularExpression(pattern: text)
    }

    private mutating func nodes(_ value: Value, at place: String) throws -> [Node] {
      try array(value, at: place).enumerated().map { try node($1, at: "\(place)/\($0)") }
    }

    private func object(_ value: Value, at place: String) throws -> [String: Value] {
      guard case .object(let object) = value else { throw Defect(description: "\(place) is not an object") }
      return object
    }

    private func array(_ value: Value, at place: String) throws -> [Value] {
      guard case .array(let array) = value, !array.isEmpty else {
        throw Defect(description: "\(place) is not an array with elements")
      }
      return array
    }

    private func string(_ value: Value, at place: String) throws -> String {
      guard case .string(let text) = value else { throw Defect(description: "\(place) is not a string") }
      return text
    }

    private func number(_ value: Value, at place: String) throws -> Double {
      guard case .number(let number) = value else { throw Defect(description: "\(place) is not a number") }
      return number
    }
  }
}

// MARK: Checking

extension JSONSchema {
  private func problems(_ value: Value, _ node: Node, at place: String) -> [String] {
    node.rules.flatMap { problems(value, $0, at: place) }
  }

  /// A rule about another type than the value's demands nothing.
  private func problems(_ value: Value, _ rule: Rule, at place: String) -> [String] {
    switch (rule, value) {
    case (.properties(let properties), .object(let object)):
      return properties.flatMap { name, schema in
        object[name].map { problems($0, schema, at: "\(place).\(name)") } ?? []
      }
    case (.items(let schema), .array(let values)):
      return values.enumerated().flatMap { problems($1, schema, at: "\(place)[\($0)]") }
    case (.allOf(let schemas), _): return schemas.flatMap { problems(value, $0, at: place) }
    case (.anyOf(let schemas), _):
      let found = schemas.map { problems(value, $0, at: place) }
      return found.contains([]) ? [] : [found.map { $0.joined(separator: ", ") }.joined(separator: "; or ")]
    case (.oneOf(let schemas), _):
      let fitting = schemas.count { problems(value, $0, at: place).isEmpty }
      return fitting == 1 ? [] : ["\(place) is \(value), which fits \(fitting) of \(schemas.count) choices"]
    case (.not(let schema), _):
      return problems(value, schema, at: place).isEmpty ? ["\(place) is \(value), which it must not be"] : []
    case (.condition(let condition, let then, let otherwise), _):
      return problems(value, problems(value, condition, at: place).isEmpty ? then : otherwise, at: place)
    case (.reference(let name), _): return definitions[name].map { problems(value, $0, at: place) } ?? []
    case (.required(let names), .object(let object)):
      return names.filter { object[$0] == nil }.map { "\(place).\($0) is missing" }
    default: return demand(of: rule, on: value).map { ["\(place) is \(value), not \($0)"] } ?? []
    }
  }

  /// What a simple rule demands, if the value is not so.
  private func demand(of rule: Rule, on value: Value) -> String? {
    switch (rule, value) {
    case (.type(let types), _):
      types.contains { value.isOf($0) } ? nil : types.map(\.rawValue).joined(separator: " or ")
    case (.oneOfValues(let values), _):
      values.contains(value) ? nil : values.map(\.description).joined(separator: " or ")
    case (.pattern(let pattern), .string(let text)): pattern.matchesWhole(text) ? nil : "like \(pattern.pattern)"
    case (.minimum(let minimum), .number(let number)):
      number >= minimum ? nil : "\(Value.number(minimum)) or more"
    case (.maximum(let maximum), .number(let number)):
      number <= maximum ? nil : "\(Value.number(maximum)) or less"
    default: nil
    }
  }
}

extension JSONSchema.Value {
  fileprivate func isOf(_ type: JSONSchema.ValueType) -> Bool {
    switch (type, self) {
    case (.null, .null), (.boolean, .bool), (.number, .number), (.string, .string), (.array, .array),
      (.object, .object):
      true
    // 1.0 is an integer in JSON Schema.
    case (.integer, .number(let number)): number == number.rounded()
    default: false
    }
  }
}

extension NSRegularExpression {
  fileprivate func matchesWhole(_ text: String) -> Bool {
    let whole = NSRange(location: 0, length: text.utf16.count)
    return firstMatch(in: text, range: whole)?.range == whole
  }
}
