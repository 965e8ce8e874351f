import Foundation
import Testing

@testable import Netwatch

@Suite struct JSONValueTests {
  static func read(_ text: String) -> JSONValue? { JSONValue(Array(text.utf8)[...]) }

  @Test(arguments: [
    ("null", JSONValue.null), (" true\t", .bool(true)), ("false\r\n", .bool(false)), ("-0", .integer(0)),
    ("9223372036854775807", .integer(.max)), ("18446744073709551616", .number(18_446_744_073_709_551_616)),
    ("1.5e-3", .number(0.0015)), ("2E+2", .number(200)), (#""""#, .string("")),
    (#""a\"\\\/\b\f\n\r\t""#, .string("a\"\\/\u{8}\u{c}\n\r\t")), (#""\u00e9\ud83d\ude00""#, .string("é😀")),
    ("[]", .array([])), ("[1, [2], {}]", .array([.integer(1), .array([.integer(2)]), .object([:])])),
    (#"{"a":1,"a":2,"b":{"c":null}}"#, .object(["a": .integer(2), "b": .object(["c": .null])])),
  ])
  func `JSON is read`(_ text: String, _ value: JSONValue) {
    #expect(Self.read(text) == value)
  }

  @Test(arguments: [
    "", " ", "nul", "nulll", "tru", "01", "-", "1.", ".5", "1e", "+1", "0x1", "'a'", #""a"#, "\"\u{1}\"", "\"\0\"",
    #""\x""#, #""\u12""#, #""\ud800""#, #""\ud800\u0041""#, #""\udc00""#, "[", "[1,]", "[1 2]", "{", #"{"a"}"#,
    #"{"a":}"#, #"{"a":1,}"#, "{a:1}", "1 2", "{}x", "\u{feff}{}",
  ])
  func `text that is no JSON is refused`(_ text: String) {
    #expect(Self.read(text) == nil)
  }

  @Test func `wrong UTF-8 is no string, deep nesting no value`() {
    for bytes: [UInt8] in [[0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22]] {
      #expect(JSONValue(bytes[...]) == nil)
    }
    #expect(Self.read(String(repeating: "[", count: 10) + String(repeating: "]", count: 10)) != nil)
    #expect(Self.read(String(repeating: "[", count: 11) + String(repeating: "]", count: 11)) == nil)
    #expect(Self.read(String(repeating: "[", count: 1_000_000)) == nil)
  }

  @Test func `a slice is read in its own bounds`() {
    let bytes = Array("xx{\"a\":1}yy".utf8)
    #expect(JSONValue(bytes[2..<9]) == .object(["a": .integer(1)]))
  }
}
