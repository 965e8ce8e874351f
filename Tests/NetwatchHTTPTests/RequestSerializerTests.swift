import Foundation
import HTTPTypes
import NetwatchHTTP
import NetwatchHTTPFoundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct RequestSerializerTests {
  private func request(_ method: HTTPRequest.Method, _ fields: HTTPFields = [:]) -> HTTPRequest {
    HTTPRequest(method: method, scheme: "http", authority: "h", path: "/p", headerFields: fields)
  }

  private func refusal(_ serializer: some RequestSerializer, _ parameters: StructuredValue) -> HTTPError.Kind? {
    do {
      _ = try serializer.serialize(request(.post), url: nil, parameters: parameters)
      return nil
    } catch {
      return error.kind
    }
  }

  // MARK: Form and query

  @Test(arguments: [HTTPRequest.Method.get, .head, .delete])
  func `GET, HEAD and DELETE have their parameters in the URL`(_ method: HTTPRequest.Method) throws {
    for serializer in [HTTPRequestSerializer(), JSONRequestSerializer(), PropertyListRequestSerializer()]
      as [any RequestSerializer]
    {
      let (made, body) = try serializer.serialize(request(method), url: nil, parameters: ["a": [1, 2]])
      #expect(made.path == "/p?a%5B%5D=1&a%5B%5D=2")
      #expect(body.length == 0 && body.contentType == nil)
    }
  }

  @Test(arguments: [HTTPRequest.Method.post, .put, .patch])
  func `the others have them in the body, as a form`(_ method: HTTPRequest.Method) async throws {
    let (made, body) = try HTTPRequestSerializer().serialize(
      request(method), url: nil, parameters: ["a": "ä b", "c": nil])
    #expect(made.path == "/p")
    #expect(try await body.text() == "a=%C3%A4%20b&c")
    #expect(body.contentType == "application/x-www-form-urlencoded")
    let (_, empty) = try HTTPRequestSerializer().serialize(request(method), url: nil, parameters: nil)
    #expect(empty.length == 0 && empty.contentType == "application/x-www-form-urlencoded")
  }

  @Test func `which methods have parameters in the URL can be changed`() throws {
    var serializer = HTTPRequestSerializer()
    serializer.queryMethods = [.get, .post]
    #expect(try serializer.serialize(request(.post), url: nil, parameters: ["a": 1]).0.path == "/p?a=1")
    #expect(try serializer.serialize(request(.delete), url: nil, parameters: ["a": 1]).0.path == "/p")
  }

  @Test func `a query of one's own replaces ours, in URLs and bodies`() async throws {
    var serializer = HTTPRequestSerializer()
    serializer.query = { request, parameters in "\(request.method.rawValue);\(parameters.array?.count ?? 0)" }
    #expect(try serializer.serialize(request(.get), url: nil, parameters: [1, 2]).0.path == "/p?GET;2")
    let (_, body) = try serializer.serialize(request(.post), url: nil, parameters: [1])
    #expect(try await body.text() == "POST;1")
  }

  @Test func `a query of one's own may fail, and its error is kept`() throws {
    struct Refused: Error, Equatable { let reason: String }
    var serializer = HTTPRequestSerializer()
    serializer.query = { _, _ in throw Refused(reason: "no") }
    let error = #expect(throws: HTTPError.self) {
      try serializer.serialize(request(.get), url: nil, parameters: [:])
    }
    #expect(error?.kind == .cannotEncodeRequest && error?.underlying as? Refused == Refused(reason: "no"))
    serializer.query = { _, _ in throw HTTPError(.badURL, "mine") }
    #expect(refusal(serializer, [:]) == .badURL)
  }

  @Test(arguments: ["a b", "a\r\nX-Evil: 1", "a#b", "ä"])
  func `a query that was not escaped cannot change the request`(_ query: String) throws {
    var serializer = HTTPRequestSerializer()
    serializer.query = { _, _ in query }
    let error = #expect(throws: HTTPError.self) {
      try serializer.serialize(request(.get), url: nil, parameters: [:])
    }
    #expect(error?.kind == .cannotEncodeRequest)
  }

  // MARK: JSON and property lists

  @Test func `JSON is a body of its type, with everything that JSON can hold`() async throws {
    let parameters: StructuredValue = [
      "b": true, "i": 9_007_199_254_740_993, "n": nil, "d": 0.5, "s": "é\"\n😀", "a": [1, [:], []],
    ]
    let (_, body) = try JSONRequestSerializer().serialize(request(.post), url: nil, parameters: parameters)
    #expect(body.contentType == "application/json")
    #expect(
      try await body.text() == #"{"a":[1,{},[]],"b":true,"d":0.5,"i":9007199254740993,"n":null,"s":"é\"\n😀"}"#)
  }

  @Test func `without parameters, JSON and property lists have no body and no type`() throws {
    for serializer in [JSONRequestSerializer(), PropertyListRequestSerializer()] as [any RequestSerializer] {
      let (made, body) = try serializer.serialize(request(.post), url: nil, parameters: nil)
      #expect(body.length == 0 && body.contentType == nil && made.headerFields[.contentType] == nil)
    }
  }

  @Test(
    arguments: [
      ["a": .number(.nan)], ["a": [.number(-.infinity)]], ["a": .set([1])], ["a": .data(Data([1]))],
      ["a": .date(Date(timeIntervalSince1970: 0))], "text", 1, nil,
    ] as [StructuredValue])
  func `what JSON cannot hold is an error before anything is sent`(_ parameters: StructuredValue) {
    #expect(refusal(JSONRequestSerializer(), parameters) == .cannotEncodeRequest)
  }

  @Test func `a lone value is JSON for those who ask for it`() async throws {
    let serializer = JSONRequestSerializer(options: .fragmentsAllowed)
    let (_, body) = try serializer.serialize(request(.post), url: nil, parameters: "text")
    #expect(try await body.text() == #""text""#)
  }

  @Test(arguments: [PropertyListRequestSerializer.Format.xml, .binary])
  func `a property list comes back as it went`(_ format: PropertyListRequestSerializer.Format) async throws {
    let parameters: StructuredValue = [
      "b": false, "i": -5, "d": 0.5, "s": "<é&😀>", "when": .date(Date(timeIntervalSince1970: 1_000)),
      "bytes": .data(Data([0, 255])), "a": [1, ["x": true]],
    ]
    let serializer = PropertyListRequestSerializer(format: format)
    let (_, body) = try serializer.serialize(request(.put), url: nil, parameters: parameters)
    #expect(body.contentType == "application/x-plist")
    let bytes = Data(try await body.bytes())
    #expect(bytes.starts(with: Data((format == .xml ? "<?xml" : "bplist").utf8)))
    let response = HTTPResponse(status: .ok, headerFields: [.contentType: "application/x-plist"])
    #expect(try PropertyListResponseSerializer().serialize(response, body: bytes, request: nil) == parameters)
  }

  @Test(arguments: [["a": nil], ["a": .set([1])], ["a": [nil]], ["a": "\u{0}"], ["\u{1}": 1]] as [StructuredValue])
  func `what a property list cannot hold is an error`(_ parameters: StructuredValue) {
    #expect(refusal(PropertyListRequestSerializer(), parameters) == .cannotEncodeRequest)
  }

  // MARK: Header fields

  @Test func `what the request says itself is never overwritten, and nil removes a default`() throws {
    var serializer = HTTPRequestSerializer(headerFields: .standard(languages: ["de"], userAgent: "test/1"))
    serializer.headerFields[.accept] = "text/plain"
    let plain = try serializer.serialize(request(.get), url: nil, parameters: nil).0
    #expect(plain.headerFields == [.userAgent: "test/1", .acceptLanguage: "de", .accept: "text/plain"])
    serializer.headerFields[.acceptLanguage] = nil
    let own = request(.get, [.accept: "image/png", .userAgent: "mine"])
    let made = try JSONRequestSerializer(base: serializer).serialize(own, url: nil, parameters: nil).0
    #expect(made.headerFields == [.accept: "image/png", .userAgent: "mine"])
  }

  @Test func `a default of several lines goes out whole`() throws {
    var serializer = HTTPRequestSerializer(headerFields: [:])
    serializer.headerFields[values: .accept] = ["text/html", "text/plain"]
    let made = try serializer.serialize(request(.get), url: nil, parameters: nil).0
    #expect(made.headerFields[values: .accept] == ["text/html", "text/plain"])
  }

  @Test func `basic authorization is that of RFC 7617, and can be taken back`() throws {
    var serializer = HTTPRequestSerializer(headerFields: [:])
    try serializer.setBasicAuthorization(user: "Aladdin", password: "open sesame")
    #expect(serializer.headerFields[.authorization] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
    try serializer.setBasicAuthorization(user: "test", password: "123£")
    #expect(serializer.headerFields[.authorization] == "Basic dGVzdDoxMjPCow==")
    #expect(throws: HTTPError.self) { try serializer.setBasicAuthorization(user: "a:b", password: "") }
    #expect(throws: HTTPError.self) { try serializer.setBasicAuthorization(user: "a", password: "x\n") }
    serializer.removeAuthorization()
    #expect(serializer.headerFields[.authorization] == nil)
  }

  @Test(arguments: [
    (["de"], "de"),
    (["de-AT", "de", "en"], "de-AT, de;q=0.9, en;q=0.8"),
    (["a", "b", "c", "d", "e", "f", "g", "h"], "a, b;q=0.9, c;q=0.8, d;q=0.7, e;q=0.6, f;q=0.5"),
  ])
  func `languages weigh a tenth less each, down to a half`(_ languages: [String], _ expected: String) {
    #expect(HTTPFields.standard(languages: languages)[.acceptLanguage] == expected)
  }

  @Test(
    arguments: [
      ([:], []),
      (["LANG": "C.UTF-8"], []),
      (["LANG": "POSIX", "LANGUAGE": "de"], []),
      (["LANG": "de_AT.UTF-8"], ["de-AT"]),
      (["LANG": "de_AT.UTF-8", "LC_ALL": "fr_FR@euro"], ["fr-FR"]),
      (["LANG": "de_AT.UTF-8", "LC_ALL": "", "LC_MESSAGES": "sl"], ["sl"]),
      (["LANG": "de_AT.UTF-8", "LANGUAGE": "de_AT:de:en_GB:de"], ["de-AT", "de", "en-GB"]),
      (["LANG": "x\r\nEvil: 1"], []),
    ] as [([String: String], [String])])
  func `the languages are those of the locale`(_ environment: [String: String], _ expected: [String]) {
    #expect(HTTPFields.preferredLanguages(environment: environment) == expected)
    #expect((HTTPFields.standard(languages: expected)[.acceptLanguage] == nil) == expected.isEmpty)
  }

  @Test(arguments: [
    ("App", "1.0", "App/1.0 ("), ("Zürich Ærø", "2", "Zurich-AEro/2 ("), ("Пример", "1", "Primer/1 ("),
    ("a\r\nb/c", "1 beta", "a--b-c/1-beta ("), ("😀", "", "netwatch ("),
  ])
  func `the user agent is ASCII, whatever the app is called`(_ name: String, _ version: String, _ start: String) {
    let agent = HTTPFields.userAgent(transcribing: name, version: version)
    #expect(agent.hasPrefix(start) && agent.hasSuffix(")") && agent.utf8.allSatisfy { 0x20..<0x7f ~= $0 })
    #expect(agent.contains("Linux; "))
  }

  @Test func `the user agent begins with the name of the process, which has no version`() {
    let name = ProcessInfo.processInfo.processName
    #expect(HTTPFields.userAgent().hasPrefix("\(name) (Linux; "))
    #expect(HTTPFields.userAgent(version: "1").hasPrefix("\(name)/1 (Linux; "))
    #expect(HTTPFields.userAgent(name: "", version: "1").hasPrefix("1 (Linux; "))
  }
}
