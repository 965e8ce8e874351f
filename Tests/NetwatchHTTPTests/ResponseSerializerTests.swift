import Foundation
import FoundationXML
import HTTPTypes
import NetwatchHTTP
import NetwatchHTTPFoundation
import NetwatchTestSupport
import Testing

@Suite struct ResponseSerializerTests {
  private func response(_ status: Int, _ type: String? = nil) -> HTTPResponse {
    var response = HTTPResponse(status: .init(code: status))
    response.headerFields[.contentType] = type
    return response
  }

  private func error<Value>(_ body: () throws(HTTPError) -> Value) -> HTTPError? {
    do {
      _ = try body()
      return nil
    } catch {
      return error
    }
  }

  // MARK: Validation

  struct Case: Sendable, CustomTestStringConvertible {
    let status: Int
    let type: String?
    let body: String
    let failure: HTTPError.Kind?
    let underneath: HTTPError.Kind?
    var method = HTTPRequest.Method.get
    var testDescription: String { "\(method) \(status) \(type ?? "no type") '\(body)'" }

    init(
      _ status: Int, _ type: String?, _ body: String, _ failure: HTTPError.Kind? = nil,
      _ underneath: HTTPError.Kind? = nil, method: HTTPRequest.Method = .get
    ) {
      (self.status, self.type, self.body, self.failure) = (status, type, body, failure)
      (self.underneath, self.method) = (underneath, method)
    }
  }

  @Test(arguments: [
    Case(200, "application/json", "{}"),
    Case(299, "text/json; charset=utf-8", "{}"),
    Case(200, " Application/JSON ;x=y", "{}"),
    Case(200, "text/javascript", "[]"),
    Case(200, "text/html", "{}", .cannotDecodeContentData),
    Case(200, nil, "{}", .cannotDecodeContentData),
    Case(200, ";charset=utf-8", "{}", .cannotDecodeContentData),
    Case(200, "application/jsonp", "{}", .cannotDecodeContentData),
    Case(200, nil, ""),
    Case(200, "application/json", ""),
    Case(200, "text/html", "", .cannotDecodeContentData),
    Case(204, nil, ""),
    Case(204, "text/html", ""),
    Case(199, "application/json", "{}", .badServerResponse),
    Case(300, "application/json", "{}", .badServerResponse),
    Case(404, nil, "", .badServerResponse),
    Case(500, "application/json", "nonsense", .badServerResponse, .cannotDecodeContentData),
    Case(404, "text/html", "<html>", .badServerResponse, .cannotDecodeContentData),
    Case(404, "text/html", "", .badServerResponse, .cannotDecodeContentData),
    Case(304, "text/html", "", .badServerResponse),
    Case(200, "text/html", "", method: .head),
    Case(404, "text/html", "", .badServerResponse, method: .head),
  ])
  func `a response is accepted by its status and its type`(_ sample: Case) {
    let request = HTTPRequest(method: sample.method, scheme: "http", authority: "h", path: "/")
    let response = response(sample.status, sample.type)
    let body = Data(sample.body.utf8)
    let failure = error { () throws(HTTPError) in
      try JSONResponseSerializer().serialize(response, body: body, request: request)
    }
    #expect(failure?.kind == sample.failure)
    #expect((failure?.underlying as? HTTPError)?.kind == sample.underneath)
    if let failure {
      #expect(failure.response == response && failure.body == body)
      #expect(failure.kind != .badServerResponse || failure.code == CInt(sample.status))
    }
  }

  @Test func `by default any type is accepted, and bytes are handed over as they came`() throws {
    let body = Data([0, 1, 255])
    #expect(try HTTPResponseSerializer().serialize(response(200), body: body, request: nil) == body)
    #expect(try HTTPResponseSerializer().serialize(response(206, "x/y"), body: body, request: nil) == body)
    #expect(throws: HTTPError.self) {
      try HTTPResponseSerializer().serialize(response(404), body: body, request: nil)
    }
  }

  @Test func `statuses and types can be chosen, and nil accepts all of them`() throws {
    let all = ResponseValidation(statusCodes: nil)
    try all.check(response(500, "x/y"), body: Data(), request: nil)
    let teapot = ResponseValidation(statusCodes: [418], contentTypes: ["application/problem+json"])
    try teapot.check(response(418, "application/problem+json"), body: Data([1]), request: nil)
    #expect(throws: HTTPError.self) {
      try teapot.check(response(200, "application/problem+json"), body: Data(), request: nil)
    }
  }

  @Test(arguments: [
    ("text/*", ["text/plain", "text/html"], ["textual/plain", "text", "application/text", "text/"]),
    ("*/*", ["a/b", "nonsense"], []),
    (
      "application/*+json", ["application/problem+json", "application/vnd.api+json"],
      ["application/json", "application/+json", "text/x+json", "application/x+jsonp"]
    ),
    ("*/*+xml", ["image/svg+xml"], ["application/xml", "image/svg"]),
    ("image/png", ["image/png"], ["image/*", "image/pngx"]),
  ])
  func `a type may have a wildcard`(_ pattern: String, _ accepted: [String], _ refused: [String]) throws {
    let validation = ResponseValidation(contentTypes: ["x/y", pattern])
    for type in accepted {
      #expect(throws: Never.self, "\(type)") {
        try validation.check(response(200, "\(type.uppercased()); q=1"), body: Data([1]), request: nil)
      }
    }
    for type in refused {
      #expect(throws: HTTPError.self, "\(type)") {
        try validation.check(response(200, type), body: Data([1]), request: nil)
      }
    }
  }

  @Test func `a response without a type is of any type, and of no other`() throws {
    try ResponseValidation(contentTypes: ["*/*"]).check(response(200), body: Data([1]), request: nil)
    for pattern in ["text/*", "*/*+json"] {
      #expect(throws: HTTPError.self) {
        try ResponseValidation(contentTypes: [pattern]).check(response(200), body: Data([1]), request: nil)
      }
    }
  }

  @Test(arguments: ["application/problem+json", "application/vnd.api+json; profile=x", "model/gltf+json"])
  func `what is written as JSON is accepted as JSON`(_ type: String) throws {
    let body = Data("{}".utf8)
    #expect(try JSONResponseSerializer().serialize(response(200, type), body: body, request: nil) == [:])
    #expect(throws: HTTPError.self) {
      try XMLResponseSerializer().serialize(response(200, type), body: body, request: nil)
    }
    let xml = type.replacingOccurrences(of: "+json", with: "+xml")
    _ = try XMLResponseSerializer().serialize(response(200, xml), body: Data("<a/>".utf8), request: nil)
  }

  // MARK: JSON

  private func json(
    _ text: String, _ serializer: JSONResponseSerializer = .init(), status: Int = 200
  ) throws(HTTPError) -> StructuredValue? {
    try serializer.serialize(response(status, "application/json"), body: Data(text.utf8), request: nil)
  }

  @Test func `JSON keeps what it says: whole numbers, booleans, nulls, order`() throws {
    let value = try json(
      #"""
      {"t":true,"f":false,"one":1,"zero":0,"big":9223372036854775807,"huge":18446744073709551615,"d":1.5,"n":null,
      "a":["é😀",[]]}
      """#
    )
    #expect(
      value == [
        "t": true, "f": false, "one": 1, "zero": 0, "big": 9_223_372_036_854_775_807,
        "huge": .unsigned(.max), "d": 1.5, "n": nil, "a": ["é😀", []],
      ])
    #expect(
      value?["a"]?[0]?.string == "é😀" && value?["a"]?[7] == nil && value?["big"]?.number == 9.223372036854775807e18)
  }

  @Test(arguments: ["", " "])
  func `an empty body, and the single space of Rails, are nil without an error`(_ text: String) throws {
    #expect(try json(text) == nil)
  }

  @Test(arguments: ["  ", "{", "nonsense", "\"lone\"", "[1e400]"])
  func `what is not JSON is an error`(_ text: String) {
    let failure = error { () throws(HTTPError) in try json(text) }
    #expect(failure?.kind == .cannotDecodeContentData && failure?.body == Data(text.utf8))
  }

  @Test func `JSON that is too deep for a stack is an error`() {
    let deep = String(repeating: "[", count: 100_000)
    #expect(error { () throws(HTTPError) in try json(deep) }?.kind == .cannotDecodeContentData)
  }

  @Test func `a lone value is accepted where that was asked for`() throws {
    #expect(try json("\"lone\"", JSONResponseSerializer(options: .fragmentsAllowed)) == "lone")
  }

  @Test func `nulls are removed at every depth, from arrays too`() throws {
    let serializer = JSONResponseSerializer(options: .fragmentsAllowed, removesKeysWithNullValues: true)
    let value = try json(#"{"a":null,"b":{"c":null,"d":[null,1,{"e":null}]},"f":[null]}"#, serializer)
    #expect(value == ["b": ["d": [1, [:]]], "f": []])
    #expect(try json("null", serializer) == nil)
  }

  @Test func `what the server says about a bad status comes with the error`() {
    let failure = error { () throws(HTTPError) in try json(#"{"message":"too young"}"#, status: 422) }
    #expect(failure?.kind == .badServerResponse && failure?.code == 422)
    #expect((failure?.decoded as? StructuredValue)?["message"] == "too young")
    #expect(error { () throws(HTTPError) in try json("", status: 500) }?.decoded == nil)
  }

  // MARK: Decodable

  struct User: Codable, Sendable, Equatable { var name: String }

  @Test func `a type of one's own is decoded, from JSON and property lists, also beside a bad status`() throws {
    let serializer = DecodableResponseSerializer(User.self)
    let body = Data(#"{"name":"Ada"}"#.utf8)
    #expect(
      try serializer.serialize(response(200, "application/json"), body: body, request: nil) == User(name: "Ada"))
    let failure = error { () throws(HTTPError) in
      try serializer.serialize(response(400, "application/json"), body: body, request: nil)
    }
    #expect(failure?.decoded as? User == User(name: "Ada"))
    let list = try PropertyListEncoder().encode(User(name: "Bob"))
    let lists = DecodableResponseSerializer(User.self, decoder: PropertyListDecoder())
    #expect(
      try lists.serialize(response(200, "application/x-plist"), body: list, request: nil) == User(name: "Bob"))
  }

  @Test func `a body that does not fit says where, and an empty one is nil only for an optional type`() throws {
    let wrong = error { () throws(HTTPError) in
      try DecodableResponseSerializer(User.self).serialize(
        response(200, "application/json"), body: Data("{}".utf8), request: nil)
    }
    #expect(wrong?.kind == .cannotDecodeContentData && wrong?.underlying is DecodingError)
    #expect(try DecodableResponseSerializer(User?.self).serialize(response(204), body: Data(), request: nil) == nil)
    #expect(throws: HTTPError.self) {
      try DecodableResponseSerializer(User.self).serialize(response(204), body: Data(), request: nil)
    }
  }

  // MARK: XML and property lists

  @Test func `XML comes as a parser that has not started`() throws {
    final class Names: NSObject, XMLParserDelegate {
      var names: [String] = []
      func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
      ) { names.append(name) }
    }
    _ = try XMLResponseSerializer().serialize(
      response(200, "application/xhtml+xml; charset=utf-8"), body: Data("<html/>".utf8), request: nil)
    let xml = try XMLResponseSerializer().serialize(
      response(200, "text/xml"), body: Data("<a><b/></a>".utf8), request: nil)
    let names = Names()
    let parser = xml.makeParser()
    parser.delegate = names
    #expect(names.names == [] && parser.parse() && names.names == ["a", "b"])
    #expect(throws: HTTPError.self) {
      try XMLResponseSerializer().serialize(response(200, "text/html"), body: xml.data, request: nil)
    }
  }

  @Test func `XML comes as what was read of its tree`() throws {
    let titles = XMLDocumentResponseSerializer { document in
      try document.nodes(forXPath: "//title").compactMap(\.stringValue)
    }
    let body = Data("<?xml version=\"1.0\"?><l><title>ä</title><b><title>&lt;2&gt;</title></b></l>".utf8)
    #expect(try titles.serialize(response(200, "application/atom+xml"), body: body, request: nil) == ["ä", "<2>"])
    let failure = error { () throws(HTTPError) in
      try titles.serialize(response(404, "text/xml"), body: body, request: nil)
    }
    #expect(failure?.kind == .badServerResponse && failure?.decoded as? [String] == ["ä", "<2>"])
    let document = try XMLBody(data: body).makeDocument()
    #expect(document.rootElement()?.name == "l")
    let xml = try XMLResponseSerializer().serialize(response(200, "text/xml"), body: body, request: nil)
    #expect(try xml.makeDocument().rootElement()?.childCount == 2)
    let deep = String(repeating: "<a>", count: 256) + "x" + String(repeating: "</a>", count: 256)
    #expect(try XMLBody(data: Data(deep.utf8)).makeDocument().rootElement()?.stringValue == "x")
  }

  @Test(arguments: [
    "", " ", "no", "<a>", "<a></b>", "<a/><b/>", "<a>&no;</a>", "<a b=1/>", "\u{0}", "<a>\u{1}</a>", "{}",
    String(repeating: "<a>", count: 100_000),
    String(repeating: "<a>", count: 100_000) + String(repeating: "</a>", count: 100_000),
  ])
  func `what is no XML is an error, and not repaired`(_ text: String) {
    let failure = error { () throws(HTTPError) in
      try XMLDocumentResponseSerializer { $0.childCount }.serialize(
        response(200, "text/xml"), body: Data(text.utf8), request: nil)
    }
    #expect(failure?.kind == .cannotDecodeContentData)
  }

  @Test func `XML fetches nothing, and does not grow beyond measure`() throws {
    let folder = try TemporaryFolder()
    let secret = try folder.write("secret", to: "secret.txt")
    let external = "<!DOCTYPE a [<!ENTITY x SYSTEM \"\(secret.absoluteString)\">]><a>&x;</a>"
    for options in [[], .nodeLoadExternalEntitiesAlways, .nodeLoadExternalEntitiesSameOriginOnly] as [XMLNode.Options] {
      if let document = try? XMLBody(data: Data(external.utf8)).makeDocument(options: options) {
        #expect(
          !document.xmlString.contains("secret<") && document.rootElement()?.stringValue?.contains("secret") != true)
      }
    }
    let laughs = (1...9).map { "<!ENTITY l\($0) \"\(String(repeating: "&l\($0 - 1);", count: 10))\">" }.joined()
    let bomb = "<!DOCTYPE a [<!ENTITY l0 \"lol\">\(laughs)]><a>&l9;</a>"
    let lengths = XMLDocumentResponseSerializer { $0.rootElement()?.stringValue?.utf8.count ?? 0 }
    let length = try? lengths.serialize(response(200, "text/xml"), body: Data(bomb.utf8), request: nil)
    #expect(length ?? 0 < 1_000_000)
  }

  /// Expects that both serializers refuse a property list: the one for trees, and the one for a type that contains
  /// itself.
  private func refuses(_ body: Data, _ comment: Comment? = nil) {
    indirect enum Tree: Decodable, Sendable {
      case leaf, node([Tree])
      init(from decoder: any Decoder) throws {
        self = (try? decoder.singleValueContainer().decode([Tree].self)).map { .node($0) } ?? .leaf
      }
    }
    let response = response(200, "application/x-plist")
    let tree = DecodableResponseSerializer(Tree.self, decoder: PropertyListDecoder())
    #expect(throws: HTTPError.self, comment) {
      try PropertyListResponseSerializer().serialize(response, body: body, request: nil)
    }
    #expect(throws: HTTPError.self, comment) { try tree.serialize(response, body: body, request: nil) }
  }

  @Test(arguments: [
    "<plist>", "\u{0}", "Forbidden", "{ a = b; }", "bplist00", "bplist00\u{0}\u{0}", "<html><body>no</body></html>",
  ])
  func `what is no property list is an error`(_ text: String) { refuses(Data(text.utf8)) }

  @Test func `a property list that is too deep for a stack is an error`() {
    let deep = String(repeating: "<array>", count: 100_000)
    refuses(Data("<plist version=\"1.0\">\(deep)</plist>".utf8))
    refuses(Data((deep + deep.replacingOccurrences(of: "<", with: "</")).utf8))
    refuses(BinaryList.make((1...2_000).map { [0xa1, UInt8($0 >> 8), UInt8($0 & 0xff)] } + [[0x09]], referenceSize: 2))
  }

  @Test func `a small binary property list that would expand without limit is refused`() {
    refuses(BinaryList.make((1...40).map { [0xa2, $0, $0] } + [[0x09]]), "twice as many at each level")
    refuses(BinaryList.make([[0xa1, 0]]), "an array in itself")
    refuses(BinaryList.make([[0xd1, 1, 2], [0x51, 0x61], [0xa1, 0]]), "a dictionary in itself")
    let long: [UInt8] = [0x5f, 0x12, 0, 2, 0, 0] + [UInt8](repeating: 0x61, count: 131_072)
    let often: [UInt8] = [0xaf, 0x11, 0x27, 0x10] + [UInt8](repeating: 1, count: 10_000)
    refuses(BinaryList.make([often, long]), "a long string ten thousand times")
    refuses(BinaryList.make([[0xaf, 0x13] + [UInt8](repeating: 0xff, count: 8)]), "a length below zero")
    refuses(BinaryList.make([[0xa1, 9]]), "an object that is not there")
    refuses(BinaryList.make([[0xc1, 1], [0x80, 1]]), "a set of what cannot be in one")
    refuses(BinaryList.make([[0xd1, 1, 2], [0xa0], [0x09]]), "an array as a key")
  }

  @Test func `a binary property list that says the same often is as good as any`() throws {
    let list = [[String: String]](repeating: ["key": String(repeating: "x", count: 200)], count: 5_000)
    let body = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
    let value = try PropertyListResponseSerializer().serialize(
      response(200, "application/x-plist"), body: body, request: nil)
    #expect(value?.array?.count == 5_000 && value?[4_999]?["key"]?.string?.count == 200)
    #expect(try PropertyListResponseSerializer().serialize(response(200), body: Data(), request: nil) == nil)
  }

  @Test func `mutated JSON and property lists do no harm`() throws {
    var random = SplitMix(seed: 7)
    let object: [String: Any] = [
      "a": [1, 2.5, true, "x"], "d": Date(timeIntervalSince1970: 9), "b": Data([1, 2, 3]), "name": "n",
    ]
    let xml = try PropertyListSerialization.data(fromPropertyList: object, format: .xml, options: 0)
    let binary = try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0)
    let corpus = [xml, binary, Data(#"{"a":[1,-2.5e3,true,null,"\u00e9\ud83d\ude00"],"b":{}}"#.utf8)]
    var answers = 0
    for round in 0..<FuzzRounds.count(default: 3_000) {
      let bytes = Data(corpus[round % 3]).mutated(&random)
      let validation = ResponseValidation()
      let json = JSONResponseSerializer(validation: validation)
      let lists = PropertyListResponseSerializer(validation: validation)
      let users = DecodableResponseSerializer(User.self, decoder: PropertyListDecoder(), validation: validation)
      if (try? json.serialize(response(200), body: bytes, request: nil)) != nil { answers += 1 }
      if (try? users.serialize(response(200), body: bytes, request: nil)) != nil { answers += 1 }
      if (try? lists.serialize(response(200), body: bytes, request: nil)) != nil { answers += 1 }
    }
    #expect(answers > 0)
  }

  // MARK: Compound

  enum Answer: Sendable, Equatable { case json(StructuredValue), image(Int), nothing, text(String) }

  private var compound: CompoundResponseSerializer<Answer?> {
    CompoundResponseSerializer([
      ImageResponseSerializer().map { .image($0.header.width) }, JSONResponseSerializer().map { $0.map(Answer.json) },
    ])
  }

  @Test func `the first serializer that has something answers`() throws {
    let png = Data(base64Encoded: ImageHeaderTests.png) ?? Data()
    #expect(try compound.serialize(response(200, "image/png"), body: png, request: nil) == .image(37))
    let list = Data("[1]".utf8)
    #expect(try compound.serialize(response(200, "text/json"), body: list, request: nil) == .json([1]))
    #expect(try compound.serialize(response(200, "text/json"), body: Data(), request: nil) == nil)
    let both = CompoundResponseSerializer<Answer?>([
      JSONResponseSerializer().map { $0.map(Answer.json) }, HTTPResponseSerializer().map { .text("\($0.count)") },
    ])
    #expect(try both.serialize(response(200, "text/json"), body: Data(" ".utf8), request: nil) == .text("1"))
  }

  @Test func `where none has anything, the failure that says most is thrown`() {
    let odd = error { () throws(HTTPError) in
      try compound.serialize(response(200, "x/y"), body: Data("{}".utf8), request: nil)
    }
    #expect(odd?.kind == .cannotDecodeContentData)
    let broken = error { () throws(HTTPError) in
      try compound.serialize(response(200, "text/json"), body: Data("{".utf8), request: nil)
    }
    #expect(broken?.operation == "decode JSON")
    let refused = error { () throws(HTTPError) in
      try compound.serialize(response(403, "text/json"), body: Data(#"{"why":1}"#.utf8), request: nil)
    }
    #expect(refused?.kind == .badServerResponse && refused?.decoded as? Answer == .json(["why": 1]))
    let none = error { () throws(HTTPError) in
      try CompoundResponseSerializer<Data>([]).serialize(response(200), body: Data(), request: nil)
    }
    #expect(none?.kind == .cannotDecodeContentData)
  }
}

/// Binary property lists that no program writes.
private enum BinaryList {
  /// - Parameter objects: The bytes of the objects. The first one is the outermost.
  static func make(_ objects: [[UInt8]], referenceSize: UInt8 = 1) -> Data {
    var bytes = Array("bplist00".utf8)
    let offsets = objects.map { object in
      defer { bytes += object }
      return UInt32(bytes.count)
    }
    let numbers = [UInt64(objects.count), 0, UInt64(bytes.count)]
    for offset in offsets { bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: offset >> $0) } }
    bytes += [0, 0, 0, 0, 0, 0, 4, referenceSize]
    for number in numbers {
      bytes += stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
    return Data(bytes)
  }
}

extension Data {
  /// Returns the data with up to four random changes.
  func mutated(_ random: inout SplitMix) -> Data {
    var bytes = [UInt8](self)
    for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[place] = [0, 1, 0x7f, 0x80, 0xff][Int.random(in: 0..<5, using: &random)]
      case 2: bytes.removeSubrange(place...)
      case 3: bytes.remove(at: place)
      default: bytes.insert(contentsOf: bytes[place...].prefix(16), at: place)
      }
    }
    return Data(bytes)
  }
}
