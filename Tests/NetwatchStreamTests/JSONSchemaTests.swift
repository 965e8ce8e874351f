import EventSchema
import Foundation
import Testing

/// The keywords that the validator knows.
@Suite struct JSONSchemaTests {
  static func accepts(_ schema: String, _ value: String) throws -> Bool {
    try JSONSchema(Data(schema.utf8)).problems(JSONSchema.Value(Data(value.utf8))) == []
  }

  @Test func `true is no number, and 1 is no truth`() throws {
    let texts = ["true", "false", "0", "1", "-1", "1.0", "0.5", "255", "18446744073709551615", "null", #""true""#]
    #expect(try texts.filter { try Self.accepts(#"{"type":"boolean"}"#, $0) } == ["true", "false"])
    let numbers = try texts.filter { try Self.accepts(#"{"type":"number"}"#, $0) }
    #expect(numbers == ["0", "1", "-1", "1.0", "0.5", "255", "18446744073709551615"])
    #expect(try numbers.filter { try !Self.accepts(#"{"type":"integer"}"#, $0) } == ["0.5"])
    #expect(try !Self.accepts(#"{"const":1}"#, "true"))
    #expect(try !Self.accepts(#"{"enum":[false]}"#, "0"))
    #expect(try Self.accepts(#"{"const":1}"#, "1.0"))
    #expect(try Self.accepts(#"{"const":{"a":[true]}}"#, #"{"a":[true]}"#))
    #expect(try !Self.accepts(#"{"const":{"a":[true]}}"#, #"{"a":[1]}"#))
  }

  @Test(arguments: [
    (#"{"type":["string","null"]}"#, #""x""#, "1"), (#"{"pattern":"^a+$"}"#, #""aa""#, #""aab""#),
    (#"{"pattern":"^a+$"}"#, #""a""#, #""a\n""#), (#"{"minimum":2}"#, "2", "1.9"), (#"{"maximum":2}"#, "2", "2.1"),
    (#"{"required":["a"]}"#, #"{"a":null}"#, #"{"b":null}"#),
    (#"{"properties":{"a":{"type":"null"}}}"#, #"{"b":1}"#, #"{"a":1}"#),
    (#"{"items":{"minimum":1}}"#, "[1,2]", "[1,0]"), (#"{"allOf":[{"minimum":1},{"maximum":2}]}"#, "1", "3"),
    (#"{"anyOf":[{"const":1},{"const":2}]}"#, "2", "3"), (#"{"oneOf":[{"minimum":1},{"minimum":2}]}"#, "1", "2"),
    (#"{"oneOf":[{"minimum":1},{"minimum":2}]}"#, "1", "0"), (#"{"not":{"const":1}}"#, "2", "1"),
    (#"{"if":{"minimum":5},"then":{"maximum":6},"else":{"maximum":1}}"#, "6", "7"),
    (#"{"if":{"minimum":5},"then":{"maximum":6},"else":{"maximum":1}}"#, "1", "2"),
    (#"{"if":{"minimum":5},"else":{"maximum":1}}"#, "7", "2"),
    (
      ##"{"$defs":{"list":{"items":{"$ref":"#/$defs/list"},"type":"array"}},"$ref":"#/$defs/list"}"##, "[[],[[]]]",
      "[[1]]"
    ),
  ])
  func `a keyword`(schema: String, right: String, wrong: String) throws {
    #expect(try Self.accepts(schema, right))
    #expect(try !Self.accepts(schema, wrong))
  }

  @Test(arguments: [
    #"{"minLength":1}"#, #"{"properties":{"a":{"format":"date-time"}}}"#, #"{"items":{"$defs":{}}}"#, #"{"then":{}}"#,
    #"{"if":{}}"#, #"{"type":"float"}"#, #"{"type":[]}"#, #"{"pattern":"a"}"#, #"{"pattern":"^($"}"#,
    #"{"required":[1]}"#, #"{"required":"a"}"#, #"{"minimum":true}"#, #"{"allOf":[true]}"#, #"{"enum":[]}"#,
    ##"{"$ref":"#/$defs/nothing"}"##, #"{"$ref":"https://example.org"}"#, "true", "",
  ])
  func `a schema that would check less than it says`(schema: String) {
    #expect(throws: (any Error).self) { try JSONSchema(Data(schema.utf8)) }
  }
}
