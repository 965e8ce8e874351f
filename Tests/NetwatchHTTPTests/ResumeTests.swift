import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of downloads that are broken off and continued. Each gives exactly the server's file, or fails.
@Suite(.timeLimit(.minutes(5))) struct ResumeTests {
  private let folder: TemporaryFolder
  private let session: HTTPSessionManager
  private let target: URL
  private static let old = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 41) })
  private static let new = Data((0..<250_000).map { UInt8(truncatingIfNeeded: $0 &* 43 &+ 7) })
  private static let changed = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

  init() throws {
    folder = try TemporaryFolder()
    session = try HTTPSessionManager()
    target = folder.url("here.bin")
  }

  private var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }

  private func download(_ server: PartServer) async throws -> HTTPReply<URL> {
    try await session.resumableDownload(HTTPRequest(.get, to: server.url), to: target)
  }

  /// Returns a server after a download from it was cut at 100,000 bytes.
  private func cutServer(_ validators: String = "ETag: \"1\"\r\n") async throws -> PartServer {
    let server = try PartServer(PartServer.Behaviour(content: Self.old, validators: validators, cut: 100_000))
    let error = await #expect(throws: HTTPError.self) { try await download(server) }
    #expect(error?.kind == .connectionLost)
    #expect(!names.contains("here.bin"))
    server.change { $0.cut = nil }
    return server
  }

  @Test(
    arguments: [
      ("ETag: \"1\"\r\n", "\"1\""), ("ETag: \"1\"\r\n" + changed, "\"1\""),
      (changed, "Sun, 06 Nov 1994 08:49:37 GMT"), ("ETag: W/\"1\"\r\n" + changed, "Sun, 06 Nov 1994 08:49:37 GMT"),
      ("Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT\r\n", "Sunday, 06-Nov-94 08:49:37 GMT"),
      ("ETag: W/\"1\"\r\n", nil), ("", nil), ("Last-Modified: Mon, 07 Nov 2022 08:49:37 GMT\r\n", nil),
    ] as [(String, String?)])
  func `what was cut goes on where the server can say that the file is the same, and begins anew where not`(
    _ validators: String, _ condition: String?
  ) async throws {
    let server = try await cutServer(validators)
    #expect(names == (condition == nil ? [] : ["here.bin.netwatch-part", "here.bin.netwatch-part.json"]))
    let reply = try await download(server)
    #expect(reply.response.status.code == (condition == nil ? 200 : 206))
    #expect(try Data(contentsOf: target) == Self.old)
    #expect(names == ["here.bin"])
    #expect(server.fields("if-range") == [nil, condition])
    #expect(server.fields("range") == [nil, condition.map { _ in "bytes=100000-" }])
    #expect(server.fields("accept-encoding") == ["identity", "identity"])
  }

  @Test func `a file that has changed begins anew`() async throws {
    let server = try await cutServer()
    server.change { ($0.content, $0.validators) = (Self.new, "ETag: \"2\"\r\n") }
    #expect(try await download(server).response.status == .ok)
    #expect(try Data(contentsOf: target) == Self.new)
    #expect(names == ["here.bin"])
  }

  @Test func `a server that knows no parts begins anew`() async throws {
    let server = try await cutServer()
    server.change { $0.answerToPart = { ("HTTP/1.1 200 OK\r\nETag: \"1\"\r\n", $1) } }
    _ = try await download(server)
    #expect(try Data(contentsOf: target) == Self.old)
  }

  private static let wrongParts: [@Sendable (Int, Data) -> (String, Data)] = [
    { ("HTTP/1.1 206 P\r\nContent-Range: bytes \($0 + 1)-\($1.count - 1)/\($1.count)\r\n", $1[($0 + 1)...]) },
    { ("HTTP/1.1 206 P\r\nContent-Range: bytes 0-\($1.count - 1)/\($1.count)\r\n", $0 > 0 ? $1 : Data()) },
    { ("HTTP/1.1 206 P\r\nContent-Range: bytes \($0)-\($1.count)/\($1.count + 1)\r\n", $1[$0...] + [0]) },
    { ("HTTP/1.1 206 P\r\n", $1[$0...]) },
    { ("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Range: bytes \($0)-\($1.count - 1)/\($1.count)\r\n", $1[$0...]) },
    { ("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Range: bytes 20000-\($1.count - 1)/\($1.count)\r\n", $1[20_000...]) },
    { ("HTTP/1.1 206 P\r\nETag: \"2\"\r\nContent-Range: bytes \($0)-\($1.count - 1)/\($1.count)\r\n", $1[$0...]) },
    { ("HTTP/1.1 206 P\r\nContent-Range: bytes \($0)-\($1.count - 1)/\($1.count)\r\n", $1[$0...] + [0]) },
    { ("HTTP/1.1 206 P\r\nContent-Range: bytes \($0)-\($1.count - 1)/\($1.count)\r\n", $1[$0...].dropLast()) },
  ]

  @Test(arguments: wrongParts.indices)
  func `a part that is not the rest is broken off, and the file comes from its beginning`(_ index: Int) async throws {
    let server = try await cutServer()
    server.change { $0.answerToPart = Self.wrongParts[index] }
    let isShort = index == 8
    server.change {
      if isShort {
        $0.answerToPart = {
          $0 < 299_999
            ? Self.wrongParts[8]($0, $1)
            : ("HTTP/1.1 206 P\r\nContent-Range: bytes 299999-299999/300000\r\n", Self.old[299_999...])
        }
      }
    }
    _ = try await download(server)
    #expect(try Data(contentsOf: target) == Self.old)
    #expect(names == ["here.bin"])
    #expect(server.fields("range") == [nil, "bytes=100000-", isShort ? "bytes=299999-" : nil])
  }

  @Test(arguments: wrongParts.indices)
  func `what has come stays until the file is whole`(_ index: Int) async throws {
    let server = try await cutServer()
    server.change {
      $0.answerToPart = Self.wrongParts[index]
      $0.cut = 50_000
    }
    let error = await #expect(throws: HTTPError.self) { try await download(server) }
    #expect(error?.kind == .badServerResponse || error?.kind == .connectionLost)
    #expect(names == ["here.bin.netwatch-part", "here.bin.netwatch-part.json"])
    let kept = try Data(contentsOf: folder.url("here.bin.netwatch-part"))
    #expect(kept.count >= 100_000 && kept == Self.old.prefix(kept.count))
    server.change {
      $0.answerToPart = nil
      $0.cut = nil
    }
    #expect(try await download(server).response.status == .partialContent)
    #expect(try Data(contentsOf: target) == Self.old)
    #expect(names == ["here.bin"])
  }

  @Test func `a new beginning that has come further takes the place of what was there`() async throws {
    let server = try await cutServer()
    server.change {
      $0.answerToPart = Self.wrongParts[0]
      $0.cut = 200_000
    }
    await #expect(throws: HTTPError.self) { try await download(server) }
    #expect(try Data(contentsOf: folder.url("here.bin.netwatch-part")) == Self.old.prefix(200_000))
    #expect(names == ["here.bin.netwatch-part", "here.bin.netwatch-part.json"])
    server.change {
      $0.answerToPart = nil
      $0.cut = nil
    }
    #expect(try await download(server).response.status == .partialContent)
    #expect(server.fields("range").last == "bytes=200000-")
    #expect(try Data(contentsOf: target) == Self.old)
  }

  @Test func `a changed file that was cut goes on where it was`() async throws {
    let server = try await cutServer()
    server.change { ($0.content, $0.validators, $0.cut) = (Self.new, "ETag: \"2\"\r\n", 50_000) }
    await #expect(throws: HTTPError.self) { try await download(server) }
    #expect(try Data(contentsOf: folder.url("here.bin.netwatch-part")) == Self.new.prefix(50_000))
    server.change { $0.cut = nil }
    #expect(try await download(server).response.status == .partialContent)
    #expect(try Data(contentsOf: target) == Self.new)
    #expect(names == ["here.bin"])
  }

  private static let shortParts: [@Sendable (Int, Data) -> (String, Data)] = [
    { offset, content in
      let end = min(offset + 70_000, content.count)
      return ("HTTP/1.1 206 P\r\nContent-Range: bytes \(offset)-\(end - 1)/\(content.count)\r\n", content[offset..<end])
    },
    { offset, content in
      guard offset < content.count else {
        return ("HTTP/1.1 416 N\r\nContent-Range: bytes */\(content.count)\r\n", Data())
      }
      let end = min(offset + 70_000, content.count)
      return ("HTTP/1.1 206 P\r\nETag: \"1\"\r\nContent-Range: bytes \(offset)-\(end - 1)/*\r\n", content[offset..<end])
    },
    { offset, content in
      ("HTTP/1.1 206 P\r\nContent-Range: bytes \(offset)-\(content.count - 1)/*\r\n", content[offset...])
    },
  ]

  @Test(arguments: shortParts.indices)
  func `a shorter part, and one of a file of unknown length, is taken, and the rest is asked for`(_ index: Int)
    async throws
  {
    let server = try await cutServer()
    server.change { $0.answerToPart = Self.shortParts[index] }
    _ = try await download(server)
    #expect(try Data(contentsOf: target) == Self.old)
    #expect(names == ["here.bin"])
    let parts = ["bytes=100000-", "bytes=170000-", "bytes=240000-"]
    #expect(server.fields("range").dropFirst().elementsEqual(index == 2 ? [parts[0]] : parts))
  }

  @Test func `a URL that was signed anew goes on, if the entity tag says that the file is the same`() async throws {
    let server = try await cutServer()
    let signed = HTTPRequest(method: .get, scheme: "http", authority: server.url.authority, path: "/file?signature=2")
    let reply = try await session.resumableDownload(signed, to: target)
    #expect(reply.response.status == .partialContent)
    #expect(server.fields("if-range") == [nil, "\"1\""])
    #expect(try Data(contentsOf: target) == Self.old)
  }

  @Test(arguments: ["500 No", "404 No", "403 No", "204 No Content", "304 Not Modified"])
  func `an error page never lands in the file, and what has come stays`(_ status: String) async throws {
    let server = try await cutServer()
    server.change { $0.status = status }
    let error = await #expect(throws: HTTPError.self) { try await download(server) }
    #expect(error?.kind == .badServerResponse)
    #expect(error?.response?.status.code == Int(status.prefix(3)))
    #expect(names == ["here.bin.netwatch-part", "here.bin.netwatch-part.json"])
    #expect(try Data(contentsOf: folder.url("here.bin.netwatch-part")) == Self.old.prefix(100_000))
    server.change { $0.status = nil }
    #expect(try await download(server).response.status == .partialContent)
    #expect(try Data(contentsOf: target) == Self.old)
  }

  @Test func `an error at the beginning leaves nothing`() async throws {
    let server = try PartServer(PartServer.Behaviour(content: Self.old, status: "404 No"))
    let error = await #expect(throws: HTTPError.self) { try await download(server) }
    #expect(error?.kind == .badServerResponse)
    #expect(names.isEmpty)
  }

  /// Leaves the files of a process that was killed between the last byte and the end of its download.
  private func leave(_ bytes: Data, of server: PartServer) throws {
    try folder.write(bytes, to: "here.bin.netwatch-part")
    let data = ResumeData(url: server.url.absoluteString, offset: 0, validator: .entityTag("\"1\""), total: nil)
    try folder.write(JSONEncoder().encode(#require(data)), to: "here.bin.netwatch-part.json")
  }

  @Test func `a file that was whole already is put into its place`() async throws {
    let server = try PartServer(PartServer.Behaviour(content: Self.old))
    try leave(Self.old, of: server)
    #expect(try await download(server).response.status.code == 416)
    #expect(try Data(contentsOf: target) == Self.old)
    #expect(names == ["here.bin"])
  }

  @Test func `a file that was longer than the server's begins anew`() async throws {
    let server = try PartServer(PartServer.Behaviour(content: Self.old))
    try leave(Self.old + [0], of: server)
    #expect(try await download(server).response.status == .ok)
    #expect(try Data(contentsOf: target) == Self.old)
    #expect(server.fields("range") == ["bytes=300001-", nil])
  }

  @Test(arguments: ["", "{", #"{"version":9}"#, "[1]"])
  func `data that cannot be read begins anew`(_ text: String) async throws {
    let server = try await cutServer()
    try folder.write(text, to: "here.bin.netwatch-part.json")
    _ = try await download(server)
    #expect(try Data(contentsOf: target) == Self.old)
    #expect(server.fields("range") == [nil, nil])
  }

  @Test func `an existing file is kept, and that is an error`() async throws {
    let server = try PartServer(PartServer.Behaviour(content: Self.old))
    try folder.write("old", to: "here.bin")
    let error = await #expect(throws: HTTPError.self) { try await download(server) }
    #expect(error?.code == EEXIST)
    #expect(folder.text(of: "here.bin") == "old")
    _ = try await session.resumableDownload(HTTPRequest(.get, to: server.url), to: target, replacesExisting: true)
    #expect(try Data(contentsOf: target) == Self.old)
  }
}

extension URL {
  fileprivate var authority: String { "\(host() ?? ""):\(port ?? 80)" }
}
