import Foundation
import HTTPTypes
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(1))) struct AuthenticationTests {
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

  @Test func `who says nothing gets the refusal`() async throws {
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
