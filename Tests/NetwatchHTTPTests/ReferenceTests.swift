import Foundation
import HTTPTypes
import Testing

@testable import NetwatchHTTP

/// Tests of what is requested for the references that servers and callers write.
@Suite(.timeLimit(.minutes(5))) struct ReferenceTests {
  private static let references: [(String, String)] = [
    ("/t/q?f[=x&s=a%2Bb%20c", "/t/q?f%5B=x&s=a%2Bb%20c"), ("/t/q?f|=x&s=a%2Bb%20c", "/t/q?f%7C=x&s=a%2Bb%20c"),
    ("/t/q?fé=x&s=a%2Bb", "/t/q?f%C3%A9=x&s=a%2Bb"), ("/t/q?f =x&s=a%2Bb", "/t/q?f%20=x&s=a%2Bb"),
    ("/t/a%2Bb%20c/x]y", "/t/a%2Bb%20c/x%5Dy"), ("/t/a%2Bb%20c/x\"y", "/t/a%2Bb%20c/x%22y"),
    ("/t/a%2Bb%20c/x^y", "/t/a%2Bb%20c/x%5Ey"),
    ("/t/f%2Fname?sig=ab%2Bc%3D&x=1|2", "/t/f%2Fname?sig=ab%2Bc%3D&x=1%7C2"),
    ("/t/q?q=caf%C3%A9&ort=Zürich", "/t/q?q=caf%C3%A9&ort=Z%C3%BCrich"),
    ("/t/f?disp=attachment;filename=\"a%20b.pdf\"", "/t/f?disp=attachment;filename=%22a%20b.pdf%22"),
    ("/a%zz?b=100%", "/a%25zz?b=100%25"), ("/a?b=c?d/e:@!$&'()*+,;=-._~", "/a?b=c?d/e:@!$&'()*+,;=-._~"),
    ("/a\\b", "/a%5Cb"), ("/t/q?f[name]=a%20b", "/t/q?f%5Bname%5D=a%20b"),
  ]

  /// Starts a server that redirects `/from` with the header lines in `location`. It answers every other request with
  /// the path of the request.
  private static func server(_ location: [UInt8]) throws -> ScriptedServer {
    try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        let path = String(head.split(separator: " ")[1])
        if path == "/from" {
          connection.write(Data("HTTP/1.1 302 Moved\r\nContent-Length: 0\r\n".utf8) + location + Data("\r\n".utf8))
        } else {
          connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
        }
      }
    }
  }

  private static func locations(_ values: String...) -> [UInt8] {
    Array(values.map { "Location: \($0)\r\n" }.joined().utf8)
  }

  private func follow(_ location: [UInt8], _ path: String = "from") async throws -> HTTPReply<Data> {
    let server = try Self.server(location)
    defer { server.stop() }
    return try await HTTPSessionManager(baseURL: server.url).data(for: path)
  }

  @Test(arguments: references)
  func `a redirect and a call keep what is encoded`(_ reference: String, _ requested: String) async throws {
    #expect(try await follow(Self.locations(reference)).text == requested)
    #expect(try await follow([], reference).text == requested)
    let server = try Self.server([])
    defer { server.stop() }
    let base = try #require(URL(string: "\(server.url)b%2Fs/a%2Bb%20c/"))
    let relative = String(reference.dropFirst())
    let reply = try await HTTPSessionManager(baseURL: base).data(for: relative)
    #expect(reply.text == "/b%2Fs/a%2Bb%20c" + requested)
  }

  @Test func `a whole URL keeps its host, and a byte that is no text is encoded`() async throws {
    #expect(URL(reference: "http://u:p@[::1]:8080/[a]".utf8)?.absoluteString == "http://u:p@[::1]:8080/%5Ba%5D")
    #expect(URL(reference: "//example.org?a|b#c#d".utf8)?.absoluteString == "//example.org?a%7Cb#c%23d")
    #expect(URL(reference: "mailto:a b".utf8)?.absoluteString == "mailto:a%20b")
    #expect(try await follow(Array("Location: /t/caf".utf8) + [0xe9, 13, 10]).text == "/t/caf%E9")
  }

  @Test func `parameters are added to a query that has to be encoded`() async throws {
    let server = try Self.server([])
    defer { server.stop() }
    let session = try HTTPSessionManager(baseURL: server.url)
    let reply = try await session.data(for: HTTPCall(.get, "t/q?f|=a%20b", parameters: ["x": "1"]))
    #expect(reply.text == "/t/q?f%7C=a%20b&x=1")
  }

  @Test func `equal places are one, and of different ones, or none, the redirect is the response`() async throws {
    #expect(try await follow(Self.locations("/t/one", "/t/one", "/t/one")).text == "/t/one")
    for location in [Self.locations("/t/one", "/t/two"), Self.locations(""), Self.locations("  ")] {
      #expect(try await follow(location).response.status == .found)
    }
  }

  @Test func `a fragment is inherited, and never sent`() async throws {
    for (location, path) in [("/end", "/end#orig"), ("/end?a=b", "/end?a=b#orig"), ("/end#new", "/end#new")] {
      let reply = try await follow(Self.locations(location), "/from#orig")
      #expect(reply.request.path == path)
      #expect(reply.text == path.prefix { $0 != "#" })
    }
  }

  @Test func `of fields that may stand once, equal ones count, and different ones do not`() {
    var fields: HTTPFields = [.eTag: "\"1\""]
    #expect(fields.singleValue(.eTag) == "\"1\"" && fields.singleValue(.date) == nil)
    fields.append(HTTPField(name: .eTag, value: "\"1\""))
    #expect(fields.singleValue(.eTag) == "\"1\"")
    fields.append(HTTPField(name: .eTag, value: "\"2\""))
    #expect(fields.singleValue(.eTag) == nil)
    fields = [.eTag: ""]
    #expect(fields.singleValue(.eTag) == nil)
    fields.append(HTTPField(name: .eTag, value: "\"3\""))
    #expect(fields.singleValue(.eTag) == "\"3\"")
  }
}
