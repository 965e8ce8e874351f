import Foundation
import HTTPTypes
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct RedirectTests {
  private let server: NginxServer
  private let session: HTTPSessionManager

  init() throws {
    server = try NginxServer(
      server: """
        location = /moved { return 301 /method; }
        location = /see-other { return 303 /method; }
        location = /temporary { return 307 /method; }
        location = /loop { return 302 /loop; }
        location = /nowhere { add_header Location "gopher://ali:sesame@127.0.0.1/?key=sesame"; return 302; }
        location = /here { return 302 /private/secret.txt; }
        """)
    session = try HTTPSessionManager(baseURL: server.url)
  }

  private func send(
    _ method: HTTPRequest.Method, _ path: String, _ options: HTTPTaskOptions = .init(), body: HTTPBody? = nil,
    fields: HTTPFields = [:]
  ) async throws -> HTTPReply<Data> {
    try await session.data(
      for: HTTPRequest(method, to: session.url(for: path), headerFields: fields), body: body, options: options)
  }

  @Test(arguments: [
    ("moved", HTTPRequest.Method.get, "GET"), ("moved", .post, "GET"), ("moved", .put, "PUT"),
    ("see-other", .put, "GET"), ("temporary", .post, "POST"), ("temporary", .delete, "DELETE"),
  ])
  func `redirects are followed with the method that browsers use`(
    path: String, method: HTTPRequest.Method, expected: String
  ) async throws {
    let reply = try await send(method, path, body: method == .delete || method == .get ? nil : .data(Data("x".utf8)))
    #expect(String(decoding: reply.value, as: UTF8.self) == expected)
    #expect(reply.request.path == "/method")
    #expect(reply.metrics.furtherAttempts == 1)
  }

  @Test func `a loop ends after ten`() async throws {
    let error = await #expect(throws: HTTPError.self) { try await send(.get, "loop") }
    #expect(error?.kind == .tooManyRedirects)
    #expect(try await server.log(lines: 11).count == 11)
  }

  @Test func `a place that is not the web is refused`() async throws {
    let error = await #expect(throws: HTTPError.self) { try await send(.get, "nowhere") }
    #expect(error?.kind == .badURL)
    #expect(error?.response?.status == .found)
    #expect(error?.message.hasSuffix("gopher://127.0.0.1/?…") == true)
  }

  @Test func `nor is a secret in the URL of a request that cannot be made in its error`() throws {
    let url = try #require(URL(string: "ftp://ali:sesame@127.0.0.1/a?key=sesame"))
    let error = #expect(throws: HTTPError.self) { try HTTPRequest(.get, to: url) }
    #expect(error?.operation == "request to ftp://127.0.0.1/a?…")
  }

  @Test func `with a limit of none the redirect is the response`() async throws {
    var options = HTTPTaskOptions()
    options.maximumRedirects = 0
    #expect(try await send(.get, "moved", options).response.status == .movedPermanently)
  }

  @Test func `a callback can stop, and can change where it goes`() async throws {
    var stops = HTTPTaskOptions()
    stops.onRedirect = { _ in nil }
    let stopped = try await send(.get, "moved", stops)
    #expect(stopped.response.status == .movedPermanently)
    #expect(String(decoding: stopped.value, as: UTF8.self).contains("Moved"))

    var changes = HTTPTaskOptions()
    let seen = Box<[String]>([])
    changes.onRedirect = { redirect in
      seen.change { $0.append("\(redirect.count) \(redirect.response.status.code) \(redirect.next.path ?? "")") }
      var next = redirect.next
      next.path = "/arguments?changed"
      return next
    }
    #expect(try await send(.get, "moved", changes).value == Data("changed".utf8))
    #expect(seen.now == ["0 301 /method"])
  }

  @Test func `credentials and cookies stay on the host, and come along on it`() async throws {
    let heads = Box<[String]>([])
    let other = try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        heads.change { $0.append(head) }
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      }
    }
    defer { other.stop() }
    let first = try ScriptedServer { connection, number in
      while let head = connection.readHead() {
        heads.change { $0.append(head) }
        let location = head.contains("GET /away") ? other.url.absoluteString : "/away"
        connection.write("HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
      }
    }
    defer { first.stop() }
    var options = HTTPTaskOptions()
    options.credential = HTTPCredential(user: "ali", password: "open sesame", scheme: .basic)
    let field = try #require(HTTPField.Name("X-Other"))
    let fields: HTTPFields = [.cookie: "secret=1", field: "kept"]
    _ = try await session.data(for: HTTPRequest(.get, to: first.url, headerFields: fields), options: options)
    let own: HTTPFields = [.authorization: "Bearer secret", field: "kept"]
    _ = try await session.data(for: HTTPRequest(.get, to: first.url, headerFields: own))

    let all = heads.now
    #expect(all.count == 6)
    for number in [0, 1] {
      #expect(all[number].contains("Authorization: Basic YWxpOm9wZW4gc2VzYW1l"))
      #expect(all[number].contains("Cookie: secret=1"))
      #expect(all[number + 3].contains("Authorization: Bearer secret"))
    }
    for number in [2, 5] {
      #expect(!all[number].lowercased().contains("authorization"))
      #expect(!all[number].lowercased().contains("cookie"))
      #expect(all[number].contains("X-Other: kept"))
    }
  }

  @Test func `a body is sent again where the redirect wants it`() async throws {
    let bodies = Box<[Data]>([])
    let server = try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        bodies.change { $0.append(connection.read(100_000) ?? Data()) }
        let line = head.contains("/first") ? "307 Temporary Redirect\r\nLocation: /second" : "200 OK"
        connection.write("HTTP/1.1 \(line)\r\nContent-Length: 0\r\n\r\n")
      }
    }
    defer { server.stop() }
    let body = Data(repeating: 7, count: 100_000)
    let request = try HTTPRequest(.put, to: server.url.appending(path: "first"))
    #expect(try await session.upload(.data(body), with: request).response.status == .ok)
    #expect(bodies.now == [body, body])
  }

  @Test func `a redirect with a body without end is broken off`() async throws {
    let server = try ScriptedServer { connection, _ in
      guard let head = connection.readHead() else { return }
      if head.contains("/end") {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
        return connection.waitForEnd()
      }
      connection.write("HTTP/1.1 302 Found\r\nLocation: /end\r\n\r\n")
      while connection.write(Data(repeating: 0, count: 10_000)) {}
    }
    defer { server.stop() }
    #expect(try await session.data(for: HTTPRequest(.get, to: server.url)).value == Data("done".utf8))
  }
}
