import Foundation
import HTTPTypes
import NetwatchHTTPFoundation
import Testing

@testable import NetwatchHTTP

/// Tests of trees of values: from JSON of any kind, and as text.
@Suite struct StructuredValueTests {
  private func decode<Value: Decodable & Sendable>(
    _ body: Data, as type: Value.Type = StructuredValue.self
  ) throws(HTTPError) -> Value {
    try DecodableResponseSerializer(type).serialize(
      HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"]), body: body, request: nil)
  }

  @Test(
    arguments: [
      (Data(#"{"list":[1,{"far":1e400}]}"#.utf8), "the number at byte 18 is too large for a Double: 1e400"),
      (Data("-1e400".utf8), "the number at byte 0 is too large for a Double: -1e400"),
      (
        Data(#"{"1e400":["\\ud800","\ud83d\ude00","\ud800"]}"#.utf8),
        #"the text at byte 36 has half of a surrogate pair: \ud800"#
      ),
      (Data(#"["\udc00x"]"#.utf8), #"the text at byte 2 has half of a surrogate pair: \udc00"#),
      (Data([0x5b, 0x22, 0x61, 0xff, 0x22, 0x5d]), "byte 3 is not UTF-8"),
      (Data(#"{"a":"#.utf8), "not valid JSON"),
    ]) func `what is no JSON says why`(_ body: Data, _ words: String)
  {
    let error = #expect(throws: HTTPError.self) { try decode(body) }
    #expect(error?.kind == .cannotDecodeContentData)
    #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
  }

  @Test func `whole numbers of 64 bits are kept`() throws {
    let text = "[18446744073709551615,9223372036854775808,9223372036854775807,-9223372036854775808,0.5]"
    let value = try decode(Data(text.utf8))
    #expect(
      value == [.unsigned(.max), .unsigned(1 << 63), .integer(.max), .integer(.min), .number(0.5)])
    #expect(value.description == text)
    #expect(value[0]?.number == 18446744073709551615.0 && value[0]?.integer == nil)
    #expect(try StructuredValue(encoding: [UInt64.max, 1]) == [.unsigned(.max), .integer(1)])
    #expect(
      try JSONDecoder().decode([UInt64].self, from: JSONEncoder().encode(StructuredValue.array([.unsigned(.max)]))) == [
        .max
      ])
    let response = try JSONResponseSerializer().serialize(
      HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"]), body: Data(text.utf8), request: nil)
    #expect(response?[0] == .unsigned(.max))
    #expect(try StructuredValue(encoding: StructuredValue.unsigned(.max)) == .unsigned(.max))
  }

  @Test func `a tree is JSON as text`() {
    let value: StructuredValue = [
      "b": [nil, true, 1, 2.5, "a/\"b\"\n"], "a": [:], "date": .date(Date(timeIntervalSince1970: 0)),
      "data": .data(Data([1, 2])), "far": .number(.infinity),
    ]
    #expect(
      "\(value)"
        == #"{"a":{},"b":[null,true,1,2.5,"a/\"b\"\n"],"data":"AQI=","date":"1970-01-01T00:00:00Z","far":"inf"}"#)
    #expect("\(StructuredValue.null)" == "null")
  }

  @Test(arguments: ["", " ", "\r\n \t\r\n"]) func `nothing is nil for an optional, and an error otherwise`(
    _ body: String
  ) throws {
    #expect(try decode(Data(body.utf8), as: Int?.self) == nil)
    #expect(try decode(Data(body.utf8), as: StructuredValue?.self) == nil)
    #expect(throws: HTTPError.self) { try decode(Data(body.utf8)) }
    #expect(throws: HTTPError.self) { try decode(Data(body.utf8), as: Int.self) }
  }
}
