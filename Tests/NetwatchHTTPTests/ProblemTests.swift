import Foundation
import HTTPTypes
import NetwatchHTTP
import NetwatchHTTPFoundation
import NetwatchTestSupport
import Testing

/// Tests of problem details, by which servers describe a failure (RFC 9457).
@Suite(.timeLimit(.minutes(5))) struct ProblemTests {
  private static let sample = #"""
    {"type":"https://example.com/probs/out-of-credit","title":"You do not have enough credit.","status":403,
    "detail":"Your current balance is 30.","instance":"/account/12345/msgs/abc","balance":30,
    "accounts":["/account/12345",{"x":null,"y":1.5,"z":true}]}
    """#

  @Test func `a problem has its members, and the others beside them`() throws {
    let problem = try ProblemDetails(json: Data(Self.sample.utf8))
    var expected = ProblemDetails()
    expected.type = "https://example.com/probs/out-of-credit"
    expected.title = "You do not have enough credit."
    expected.status = 403
    expected.detail = "Your current balance is 30."
    expected.instance = "/account/12345/msgs/abc"
    expected.extensions = ["balance": 30, "accounts": ["/account/12345", ["x": nil, "y": 1.5, "z": true]]]
    #expect(problem == expected)
  }

  @Test func `a member of another kind is left out`() throws {
    let problem = try ProblemDetails(
      json: Data(#"{"type":1,"title":{},"status":"404","detail":null,"instance":["x"],"more":1e3}"#.utf8))
    var expected = ProblemDetails()
    expected.extensions = ["more": 1_000]
    #expect(problem == expected && problem.type == "about:blank")
    for status in ["99", "600", "404.5", "-1", "1e30", "true"] {
      #expect(try ProblemDetails(json: Data("{\"status\":\(status)}".utf8)).status == nil, "\(status)")
    }
    #expect(try ProblemDetails(json: Data("{}".utf8)) == ProblemDetails())
  }

  @Test(arguments: ["", "[]", "\"no\"", "{", "null", "<problem/>", "{\"a\":\(String(repeating: "[", count: 100_000))"])
  func `what is no object is none`(_ text: String) {
    let error = #expect(throws: HTTPError.self) { try ProblemDetails(json: Data(text.utf8)) }
    #expect(error?.kind == .cannotDecodeContentData)
  }

  private func serve(_ type: String, _ body: String, _ status: String = "403 Forbidden") throws -> ScriptedServer {
    try ScriptedServer { connection, _ in
      while connection.readHead() != nil {
        connection.write(
          "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      }
    }
  }

  struct User: Decodable, Sendable { let name: String }

  @Test func `it is on the error of every verb and serializer`() async throws {
    let server = try serve("application/problem+json; charset=utf-8", Self.sample)
    defer { server.stop() }
    let session = try HTTPSessionManager(baseURL: server.url)
    let verb = await #expect(throws: HTTPError.self) { let _: User = try await session.get("users/1") }
    let bytes = await #expect(throws: HTTPError.self) {
      try await session.send(HTTPCall(.get, "x"), as: HTTPResponseSerializer())
    }
    let text = await #expect(throws: HTTPError.self) {
      try await session.send(HTTPCall(.get, "x"), as: TextResponseSerializer())
    }
    let image = await #expect(throws: HTTPError.self) {
      try await session.send(HTTPCall(.get, "x"), as: ImageResponseSerializer())
    }
    for error in [verb, bytes, text, image] {
      #expect(error?.kind == .badServerResponse && error?.code == 403)
      #expect(error?.problem?.title == "You do not have enough credit." && error?.problem?.extensions["balance"] == 30)
    }
  }

  @Test func `there is none in another type, nor in nonsense`() async throws {
    for (type, body) in [
      ("application/json", Self.sample), ("application/problem+json", "<html>"), ("text/html", "no"),
    ] {
      let server = try serve(type, body)
      defer { server.stop() }
      let session = try HTTPSessionManager(baseURL: server.url)
      let error = await #expect(throws: HTTPError.self) { let _: User = try await session.get("users/1") }
      #expect(error?.kind == .badServerResponse && error?.problem == nil && error?.body == Data(body.utf8))
    }
    #expect(HTTPError(.cancelled, "x").problem == nil)
  }

  @Test func `any bytes are a problem or an error`() {
    var random = SplitMix(seed: 9)
    var count = 0
    for _ in 0..<FuzzRounds.count(default: 2_000) {
      if (try? ProblemDetails(json: Data(Self.sample.utf8).mutated(&random))) != nil { count += 1 }
    }
    #expect(count > 0)
  }
}
