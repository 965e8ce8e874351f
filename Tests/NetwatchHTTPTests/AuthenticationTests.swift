import Foundation
import HTTPTypes
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct AuthenticationTests {
  private let server: NginxServer
  private let session: HTTPSessionManager
  private let secret: HTTPRequest

  init() throws {
    server = try NginxServer()
    try server.serve("treasure", as: "secret.txt")
    session = try HTTPSessionManager(baseURL: server.url)
    secret = try HTTPRequest(.get, to: session.url(for: "private/secret.txt"))
  }

  private func options(_ password: String, _ scheme: HTTPCredential.Scheme) -> HTTPTaskOptions {
    var options = HTTPTaskOptions()
    options.credential = HTTPCredential(user: "ali", password: password, scheme: scheme)
    return options
  }

  @Test func `without a credential the 401 is the response`() async throws {
    let reply = try await session.data(for: secret)
    #expect(reply.response.status == .unauthorized)
    #expect(reply.response.headerFields[.wwwAuthenticate] == "Basic realm=\"the vault\"")
  }

  @Test(arguments: [HTTPCredential.Scheme.basic, .any])
  func `a name and a password open`(scheme: HTTPCredential.Scheme) async throws {
    let reply = try await session.data(for: secret, options: options("open sesame", scheme))
    #expect(reply.value == Data("treasure".utf8))
  }

  @Test func `a wrong password is refused once`() async throws {
    let reply = try await session.data(for: secret, options: options("open barley", .any))
    #expect(reply.response.status == .unauthorized)
  }

  @Test func `a challenge is answered, until nobody knows an answer`() async throws {
    let passwords = ["open barley", "open wheat", "open sesame"]
    let asked = Box<[String]>([])
    var options = HTTPTaskOptions()
    options.onChallenge = { challenge in
      asked.change { $0.append("\(challenge.realm ?? "") \(challenge.failures)") }
      return HTTPCredential(user: "ali", password: passwords[min(challenge.failures, 2)])
    }
    #expect(try await session.data(for: secret, options: options).value == Data("treasure".utf8))
    #expect(asked.now == ["the vault 0", "the vault 1", "the vault 2"])

    options.onChallenge = { challenge in
      challenge.failures == 0 ? HTTPCredential(user: "ali", password: "open barley") : nil
    }
    let reply = try await session.data(for: secret, options: options)
    #expect(reply.response.status == .unauthorized)
    #expect(String(decoding: reply.value, as: UTF8.self).contains("401"))
  }

  @Test func `an answer can end the task, and reject the scheme that would show the password`() async throws {
    var options = HTTPTaskOptions()
    options.onChallenge = { challenge in
      throw HTTPError(.cancelled, "ask for a password", message: challenge.realm ?? "")
    }
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: secret, options: options) }
    #expect(error?.kind == .cancelled)
    #expect(error?.message == "the vault")

    let server = try HeadServer { _ in "401 No\r\nWWW-Authenticate: Basic realm=\"it\"" }
    options.onChallenge = { _ in HTTPCredential(user: "ali", password: "open sesame", scheme: .digest) }
    let reply = try await session.data(for: HTTPRequest(.get, to: server.url()), options: options)
    #expect(reply.response.status == .unauthorized)
    #expect(!server.heads.isEmpty && server.values("authorization").allSatisfy { $0.isEmpty })
  }

  @Test func `without a ticket the refusal of a server that wants one is the response`() async throws {
    let server = try HeadServer { _ in "401 No\r\nWWW-Authenticate: Negotiate" }
    do throws(HTTPError) {
      let request = try HTTPRequest(.get, to: server.url())
      let reply = try await session.data(for: request, options: .with { $0.credential = .negotiate })
      #expect(CurlLibrary.negotiates)
      #expect(reply.response.status == .unauthorized)
      #expect(server.values("authorization").allSatisfy { $0.isEmpty })
    } catch {
      #expect(!CurlLibrary.negotiates)
      #expect(error.kind == .badConfiguration)
    }
  }

  @Test func `after three answers the refusal is the response, or after as many as may be`() async throws {
    for (limit, expected) in [(nil, 3), (1, 1), (0, 0), (5, 5)] {
      let asked = Box(0)
      var options = HTTPTaskOptions()
      if let limit { options.maximumChallenges = limit }
      options.onChallenge = { _ in
        asked.change { $0 += 1 }
        return HTTPCredential(user: "ali", password: "open barley")
      }
      #expect(try await session.data(for: secret, options: options).response.status == .unauthorized)
      #expect(asked.now == expected)
    }
  }

  /// Starts a server that accepts only this user, with the password `p`.
  private func guarded(_ user: String, else answer: @escaping @Sendable (String) -> String? = { _ in nil }) throws
    -> HeadServer
  {
    let basic = Data("\(user):p".utf8).base64EncodedString()
    return try HeadServer { head in
      head.contains("Authorization: Basic \(basic)\r\n")
        ? answer(head) : "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"\(user)\""
    }
  }

  @Test func `each host is answered with its own credential, there and back again`() async throws {
    let places = Box(["", ""])
    let other = try guarded("other") { _ in "302 Found\r\nLocation: \(places.now[0])/back" }
    let home = try guarded("home") { $0.contains("/back") ? nil : "302 Found\r\nLocation: \(places.now[1])" }
    places.change { [home, other] in $0 = ["http://127.0.0.1:\(home.server.port)", other.url().absoluteString] }
    var options = HTTPTaskOptions()
    options.credential = HTTPCredential(user: "home", password: "p")
    let asked = Box<[String]>([])
    options.onChallenge = { challenge in
      asked.change { $0.append("\(challenge.request.authority ?? "") \(challenge.realm ?? "") \(challenge.failures)") }
      return HTTPCredential(user: "other", password: "p")
    }
    let reply = try await session.data(for: HTTPRequest(.get, to: home.url()), options: options)
    #expect(reply.response.status == .ok)
    #expect(reply.request.path == "/back")
    #expect(asked.now == ["127.0.0.1:\(other.server.port) other 0"])
    let (homeOnly, otherOnly) = ("Basic aG9tZTpw", "Basic b3RoZXI6cA==")
    #expect(Set(home.values("authorization").joined()) == [homeOnly])
    #expect(Set(other.values("authorization").joined()) == [otherOnly])
  }

  @Test func `a host that is redirected to never has the credential of the first`() async throws {
    let other = try guarded("other")
    let away = other.url().absoluteString
    let home = try guarded("home") { _ in "302 Found\r\nLocation: \(away)" }
    for scheme in [HTTPCredential.Scheme.basic, .any] {
      var options = HTTPTaskOptions()
      options.credential = HTTPCredential(user: "home", password: "p", scheme: scheme)
      let reply = try await session.data(for: HTTPRequest(.get, to: home.url()), options: options)
      #expect(reply.response.status == .unauthorized)
    }
    #expect(other.values("authorization") == [[], []])
  }

  @Test(
    arguments: [
      ("Basic realm=\"a\"", ["basic realm=a"]), ("", []), ("Negotiate", ["negotiate"]),
      (
        "NTLM, Basic realm=\"x, y\", Digest realm=\"d\\\"q\", nonce=n , qop=\"auth,auth-int\"",
        ["ntlm", "basic realm=x, y", "digest nonce=n qop=auth,auth-int realm=d\"q"]
      ),
      ("Negotiate YII+/=, bearer realm = x,error=\"invalid\"", ["negotiate YII+/=", "bearer error=invalid realm=x"]),
      (", ,Basic  REALM=a,,charset=UTF-8", ["basic charset=UTF-8 realm=a"]),
      ("Basic realm=a, realm=b", ["basic realm=a"]),
      (
        "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
        ["newauth realm=apps title=Login to \"apps\" type=1", "basic realm=simple"]
      ),
      ("Basic realm=\"open", ["basic"]), ("=", []), ("Basic =", ["basic"]), ("Basic a=b=c", ["basic a=b"]),
    ] as [(String, [String])])
  func `all challenges of a field are read`(_ field: String, _ expected: [String]) {
    let offers = AuthenticationOffer.list(in: field)
    let texts = offers.map { offer in
      ([offer.scheme] + [offer.token].compactMap { $0 }
        + offer.parameters.sorted { $0.key < $1.key }.map { "\($0)=\($1)" })
        .joined(separator: " ")
    }
    #expect(texts == expected)
  }

  @Test func `a challenge knows the offers of all its fields`() throws {
    var response = HTTPResponse(status: .unauthorized)
    response.headerFields.append(HTTPField(name: .wwwAuthenticate, value: "Negotiate"))
    response.headerFields.append(HTTPField(name: .wwwAuthenticate, value: "Digest nonce=1, Basic Realm=\"the vault\""))
    let challenge = HTTPChallenge(request: secret, response: response, failures: 0)
    #expect(challenge.offers.map(\.scheme) == ["negotiate", "digest", "basic"])
    #expect(challenge.realm == "the vault")
  }

  @Test func `digest says the password to nobody`() async throws {
    let heads = Box<[String]>([])
    let server = try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        heads.change { $0.append(head) }
        let count = head.firstMatch(of: /Content-Length: (\d+)/).flatMap { Int($0.1) } ?? 0
        _ = connection.read(count)
        if head.contains("Authorization: Digest") {
          connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        } else {
          connection.write(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest realm=\"vault\", nonce=\"n0\", qop=\"auth\"\r\n"
              + "Content-Length: 4\r\n\r\nwhom")
        }
      }
    }
    defer { server.stop() }
    let request = try HTTPRequest(.put, to: server.url)
    let reply = try await session.upload(
      .data(Data("body".utf8)), with: request, options: options("open sesame", .digest))
    #expect(reply.value == Data("ok".utf8))
    let answer = try #require(heads.now.last)
    func field(_ name: String) throws -> String {
      let text = try #require(answer.firstRange(of: " \(name)=").map { answer[$0.upperBound...] })
      return String(text.prefix { $0 != "," && $0 != "\r\n" }).replacing("\"", with: "")
    }
    let (cnonce, nc) = (try field("cnonce"), try field("nc"))
    let expected = try md5("\(md5("ali:vault:open sesame")):n0:\(nc):\(cnonce):auth:\(md5("PUT:/"))")
    #expect(try field("response") == expected)
  }

  private func md5(_ text: String) throws -> String {
    let output = try Programs.run(["openssl", "md5", "-r"], input: text)
    return String(output.prefix(32))
  }
}
