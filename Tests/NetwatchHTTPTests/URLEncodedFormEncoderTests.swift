import Foundation
import HTTPTypes
import NetwatchHTTP
import NetwatchHTTPFoundation
import NetwatchTestSupport
import Testing

@Suite struct URLEncodedFormEncoderTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let parameters: StructuredValue
    let query: String
    var testDescription: String { query }
    init(_ parameters: StructuredValue, _ query: String) { (self.parameters, self.query) = (parameters, query) }
  }

  @Test(arguments: [
    Case([:], ""),
    Case(["b": 2, "a": 1, "C": 3], "C=3&a=1&b=2"),
    Case(["a": ["c": 1, "b": 2]], "a%5Bb%5D=2&a%5Bc%5D=1"),
    Case(["a": ["b": ["c": "d"]]], "a%5Bb%5D%5Bc%5D=d"),
    Case(["a": [3, 1, 2]], "a%5B%5D=3&a%5B%5D=1&a%5B%5D=2"),
    Case(["a": [["x": 1], ["x": 2]]], "a%5B%5D%5Bx%5D=1&a%5B%5D%5Bx%5D=2"),
    Case(["a": [[1, 2], [3]]], "a%5B%5D%5B%5D=1&a%5B%5D%5B%5D=2&a%5B%5D%5B%5D=3"),
    Case(["a": [], "b": [:], "c": .set([])], ""),
    Case(["a": .set(["c", "b", "a", "d"])], "a=a&a=b&a=c&a=d"),
    Case(["a": .set([nil, true, ["k": 1]])], "a&a=1&a%5Bk%5D=1"),
    Case(["a": nil], "a"),
    Case(["a": ["b": nil]], "a%5Bb%5D"),
    Case(["a": [nil]], "a%5B%5D"),
    Case(["a": true, "b": false], "a=1&b=0"),
    Case(["a": 9_223_372_036_854_775_807, "b": -1], "a=9223372036854775807&b=-1"),
    Case(["a": 1.5, "b": 2.0, "c": -0.25], "a=1.5&b=2&c=-0.25"),
    Case(["a": .date(Date(timeIntervalSince1970: -1))], "a=1969-12-31T23%3A59%3A59Z"),
    Case(["a": ""], "a="),
    Case(["": "a"], "=a"),
    Case(["a b": "c d"], "a%20b=c%20d"),
    Case(["a": ":#[]@!$&'()*+,;="], "a=%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"),
    Case(["a": "?/"], "a=?/"),
    Case(["a": "-._~AZaz09"], "a=-._~AZaz09"),
    Case(["a": "100%\"<>\\^`{|}"], "a=100%25%22%3C%3E%5C%5E%60%7B%7C%7D"),
    Case(["a": "x\r\n\0y"], "a=x%0D%0A%00y"),
    Case(["é": "日本"], "%C3%A9=%E6%97%A5%E6%9C%AC"),
    Case(["a": "👩‍👩‍👧"], "a=%F0%9F%91%A9%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7"),
    Case(["a": "e\u{301}"], "a=e%CC%81"),
    Case(["a": "🇦🇹"], "a=%F0%9F%87%A6%F0%9F%87%B9"),
  ])
  func `parameters become the query that AFNetworking's users know`(_ sample: Case) throws {
    #expect(try URLEncodedFormEncoder().encode(sample.parameters) == sample.query)
  }

  private struct Filter: Encodable {
    var userName = "ali"
    var pages = [1, 2]
    var isOpen = true
    var since = Date(timeIntervalSince1970: 1.5)
    var place: String?
    var range: [String: Double?] = ["low": 0.5, "high": nil]
  }

  private struct Style: Sendable, CustomTestStringConvertible {
    let query: String
    let change: @Sendable (inout URLEncodedFormEncoder) -> Void
    var testDescription: String { query }
    init(_ query: String, _ change: @escaping @Sendable (inout URLEncodedFormEncoder) -> Void) {
      (self.query, self.change) = (query, change)
    }
  }

  @Test(arguments: [
    Style("isOpen=1&pages[]=1&pages[]=2&range[high]&range[low]=0.5&since=1970-01-01T00:00:01Z&userName=ali") { _ in },
    Style("isOpen=true&pages=1&pages=2&range[low]=0.5&since=1.5&userName=ali") {
      ($0.booleans, $0.arrays, $0.nils, $0.dates) = (.literal, .noBrackets, .omitted, .secondsSince1970)
    },
    Style("is_open=1&pages[0]=1&pages[1]=2&range[high]=&range[low]=0.5&since=1500&user_name=ali") {
      ($0.keys, $0.arrays, $0.nils, $0.dates) = (.snakeCase, .indexInBrackets, .emptyValue, .millisecondsSince1970)
    },
    Style("ISOPEN=1&PAGES.0=1&PAGES.1=2&RANGE.HIGH=null&RANGE.LOW=0.5&SINCE=1970&USERNAME=ali") {
      ($0.keys, $0.arrays) = (.custom { $0.uppercased() }, .custom { "\($0).\($1)" })
      ($0.nils, $0.dates, $0.keyPaths) = (.literal, .custom { _ in "1970" }, .dots)
    },
  ])
  private func `a structure is written as the options say`(_ style: Style) throws {
    var encoder = URLEncodedFormEncoder()
    style.change(&encoder)
    let query = try encoder.encode(Filter())
    #expect(query.removingPercentEncoding == style.query)
  }

  private struct Upload: Encodable {
    var b = "x y+z"
    var a = Data([0xfb, 0xff])
    var nested = Nested()
    var list = [Nested()]
    var none: Int?

    struct Nested: Encodable {
      var z: Int? = 1
      var y = 2
    }

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: Key.self)
      try members.encode(b, forKey: .b)
      try members.encode(a, forKey: .a)
      try members.encode(nested, forKey: .nested)
      try members.encode(list, forKey: .list)
      try members.encode(none, forKey: .none)
    }

    enum Key: String, CodingKey { case b, a, nested, list, none }
  }

  @Test(arguments: [
    Style("a=%2B/8%3D&b=x%20y%2Bz&list.y=2&list.z=1&nested.y=2&nested.z=1&none") { _ in },
    Style("b=x+y%2Bz&a=%2B/8%3D&nested.z=1&nested.y=2&list.z=1&list.y=2&none=nil") {
      ($0.sortsKeys, $0.spaces, $0.nils) = (false, .plus, .custom { $0 == "none" ? "nil" : nil })
    },
    Style("b=x%20y%2Bz&a=2&nested:z=1&nested:y=2&list:z=1&list:y=2") {
      ($0.sortsKeys, $0.data) = (false, .custom { "\($0.count)" })
      ($0.keyPaths, $0.nils) = (.custom { "\($0):\($1)" }, .custom { _ in nil })
      $0.allowedCharacters.insert(":")
    },
  ])
  private func `bytes, spaces, the order and the names are as the options say`(_ style: Style) throws {
    var encoder = URLEncodedFormEncoder()
    (encoder.data, encoder.keyPaths, encoder.arrays) = (.base64, .dots, .noBrackets)
    style.change(&encoder)
    #expect(try encoder.encode(Upload()) == style.query)
  }

  @Test func `characters can be allowed, but for those that would change what is read`() throws {
    var encoder = URLEncodedFormEncoder()
    #expect(encoder.allowedCharacters.contains("~") && encoder.allowedCharacters.count == 68)
    encoder.allowedCharacters.formUnion("!*'():;=&#%+ ä\u{0}".unicodeScalars)
    #expect(try encoder.encode(["k=": "!*'():;=&#%+ ä\u{0}"]) == "k%3D=!*'():;=%26%23%25%2B%20%C3%A4%00")
    encoder.allowedCharacters = []
    #expect(try encoder.encode(["a": "b"]) == "%61=%62")
  }

  @Test func `a parser of forms finds what was encoded, whatever the text is`() throws {
    var random = SplitMix(seed: 7)
    for _ in 0..<2_000 {
      var encoder = URLEncodedFormEncoder()
      encoder.spaces = Bool.random(using: &random) ? .plus : .percentEncoded
      encoder.sortsKeys = Bool.random(using: &random)
      let scalars = (0..<Int.random(in: 0...12, using: &random)).map { _ in
        Unicode.Scalar(UInt32.random(in: 0...0x2ff, using: &random)) ?? " "
      }
      encoder.allowedCharacters.formUnion(scalars)
      let text = String(String.UnicodeScalarView(scalars))
      let parts = try encoder.encode([text: text]).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let read = parts.map { $0.replacing("+", with: " ").removingPercentEncoding.map { Array($0.unicodeScalars) } }
      #expect(read == [scalars, scalars])
    }
  }

  @Test func `an own way to write bytes may fail, and the outermost value has keys in any order`() throws {
    struct Refusal: Error {}
    var encoder = URLEncodedFormEncoder()
    encoder.data = .custom { _ in throw Refusal() }
    encoder.sortsKeys = false
    let error = #expect(throws: HTTPError.self) { try encoder.encode(["a": Data()]) }
    #expect(error?.kind == .cannotEncodeRequest && error?.underlying is Refusal)
    for value in [[1], "text", Endless()] as [any Encodable] {
      #expect(throws: HTTPError.self) { try encoder.encode(value) }
    }
    #expect(try encoder.encode([String: Int]()) == "")
  }

  @Test(arguments: [
    ("baseURLString", "base_url_string"), ("URL", "url"), ("aB", "a_b"), ("already_there", "already_there"),
    ("Name2D", "name2_d"), ("", ""), ("_Key", "_key"),
  ])
  func `a key in snake case has a word where the name has one`(_ key: String, _ snake: String) throws {
    var encoder = URLEncodedFormEncoder()
    encoder.keys = .snakeCase
    #expect(try encoder.encode([key: 1]) == "\(snake)=1")
  }

  /// A value that encodes itself with every kind of container.
  private struct Contortion: Encodable {
    enum Key: String, CodingKey { case list, nested, plain, more }

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: Key.self)
      var list = members.nestedUnkeyedContainer(forKey: .list)
      try list.encode(UInt8(1))
      var inner = list.nestedContainer(keyedBy: Key.self)
      try inner.encode(Float(0.1), forKey: .plain)
      var deep = list.nestedUnkeyedContainer()
      try deep.encodeNil()
      try "super".encode(to: list.superEncoder())
      var nested = members.nestedContainer(keyedBy: Key.self, forKey: .nested)
      try nested.encode(URL(string: "http://h/")!, forKey: .plain)
      try Data([1]).encode(to: members.superEncoder(forKey: .plain))
      // A second container of the same value adds to it.
      var again = encoder.container(keyedBy: Key.self)
      try again.encodeNil(forKey: .more)
      try 7.encode(to: members.superEncoder())
    }
  }

  @Test func `values encode themselves by any container`() throws {
    #expect(
      try StructuredValue(encoding: Contortion()) == [
        "list": [1, ["plain": 0.1], [nil], "super"], "nested": ["plain": "http://h/"], "plain": [1], "more": nil,
        "super": 7,
      ])
    #expect(try StructuredValue(encoding: ["a": Data([1])]) == ["a": .data(Data([1]))])
    #expect(try StructuredValue(encoding: [String]()) == [])
  }

  private final class Endless: Encodable {
    func encode(to encoder: any Encoder) throws {
      var members = encoder.unkeyedContainer()
      try members.encode(self)
    }
  }

  private struct Refusal: Error, Encodable {
    func encode(to encoder: any Encoder) throws { throw self }
  }

  @Test func `what cannot be encoded is refused`() {
    let values: [any Encodable] = [["a": UInt128.max], Endless(), Refusal(), ["a": Double.nan], [1]]
    for value in values {
      let error = #expect(throws: HTTPError.self) { try HTTPBody.form(value) }
      #expect(error?.kind == .cannotEncodeRequest)
    }
    #expect(throws: HTTPError.self) { try HTTPBody.json(Double.nan) }
  }

  @Test func `any JSON becomes a tree, and the tree the same JSON`() throws {
    let text = #"{"a":[1,2.5,true,null,"x",{"b":[]}],"c":-9223372036854775808}"#
    let tree = try JSONDecoder().decode(StructuredValue.self, from: Data(text.utf8))
    #expect(tree == ["a": [1, 2.5, true, nil, "x", ["b": []]], "c": .integer(.min)])
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(tree), as: UTF8.self) == text)
  }

  @Test(arguments: [49, 50, 51, 99, 10_000])
  func `an emoji is never split, however long the text is`(_ count: Int) throws {
    let text = "a" + String(repeating: "👨‍👩‍👧‍👦🇦🇹👍🏽", count: count)
    #expect(URLEncodedFormEncoder.escape(text).removingPercentEncoding == text)
  }

  @Test(arguments: [
    StructuredValue.null, "a=b", [1, 2], .set([1]), ["a": .date(.distantFuture + 1e12)],
    ["a": .data(Data([1]))], ["a": .number(.nan)], ["a": [.number(.infinity)]],
  ])
  func `what has no form in a query is refused before anything is sent`(_ parameters: StructuredValue) {
    let error = #expect(throws: HTTPError.self) { try URLEncodedFormEncoder().encode(parameters) }
    #expect(error?.kind == .cannotEncodeRequest)
  }

  @Test func `a tree that is too deep for a stack is refused`() {
    var parameters: StructuredValue = 1
    for _ in 0..<2_000 { parameters = ["a": parameters] }
    #expect(throws: HTTPError.self) { try URLEncodedFormEncoder().encode(parameters) }
    let post = HTTPRequest(method: .post, scheme: "http", authority: "h", path: "/")
    for serializer in [JSONRequestSerializer(), PropertyListRequestSerializer()] as [any RequestSerializer] {
      #expect(throws: HTTPError.self) { try serializer.serialize(post, url: nil, parameters: parameters) }
    }
  }

  struct Place: Sendable, CustomTestStringConvertible {
    let url: String
    let path: String
    var testDescription: String { url }
    init(_ url: String, _ path: String) { (self.url, self.path) = (url, path) }
  }

  @Test(arguments: [
    Place("http://example.org", "/?k=v%20w"),
    Place("http://example.org/", "/?k=v%20w"),
    Place("http://example.org/a/b", "/a/b?k=v%20w"),
    Place("http://example.org/a?x=1", "/a?x=1&k=v%20w"),
    Place("http://example.org/a?x=%5B1%5D&y", "/a?x=%5B1%5D&y&k=v%20w"),
    Place("http://example.org/a?", "/a?k=v%20w"),
    Place("http://example.org/a?x&", "/a?x&k=v%20w"),
    Place("http://example.org/a#part", "/a?k=v%20w#part"),
    Place("http://example.org/a?x=1#part?y=2", "/a?x=1&k=v%20w#part?y=2"),
    Place("http://example.org/%C3%A4%2Fb", "/%C3%A4%2Fb?k=v%20w"),
  ])
  func `a URL keeps the query that it has`(_ place: Place) throws {
    let (request, body) = try HTTPRequestSerializer().serialize(
      HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil), url: URL(string: place.url),
      parameters: ["k": "v w"])
    #expect(request.path == place.path)
    #expect(request.authority == "example.org" && request.scheme == "http")
    #expect(body.length == 0 && body.contentType == nil)
  }

  @Test(arguments: [
    Place("/a#part", "/a?k=v#part"), Place("/a?x=1#part?y=2", "/a?x=1&k=v#part?y=2"), Place("/#", "/?k=v#"),
    Place("/a?x=1", "/a?x=1&k=v"),
  ])
  func `parameters go before a fragment, not behind it`(_ place: Place) throws {
    let request = HTTPRequest(method: .delete, scheme: "https", authority: "h", path: place.url)
    #expect(try HTTPRequestSerializer().serialize(request, url: nil, parameters: ["k": "v"]).0.path == place.path)
  }

  @Test func `a port and an IPv6 address stay what they are`() throws {
    let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
    let url = URL(string: "https://[::1]:8443/x")
    let (made, _) = try HTTPRequestSerializer().serialize(request, url: url, parameters: nil)
    #expect(made.authority == "[::1]:8443" && made.path == "/x" && made.scheme == "https")
  }

  @Test(arguments: ["nothing", "/relative", "mailto:a@b", "file:///etc/passwd"])
  func `a URL without a host is refused`(_ text: String) {
    let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
    let error = #expect(throws: HTTPError.self) {
      try HTTPRequestSerializer().serialize(request, url: URL(string: text), parameters: nil)
    }
    #expect(error?.kind == .badURL)
  }
}
