import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests that a text for one header field cannot become two, and that every request has a User-Agent.
@Suite(.timeLimit(.minutes(5))) struct HeaderTextTests {
  private let server: HeadServer
  private let session: HTTPSessionManager

  init() throws {
    server = try HeadServer { head in
      head.contains("Authorization")
        ? nil : "401 Unauthorized\r\nWWW-Authenticate: Digest realm=\"vault\", nonce=\"n0\", qop=\"auth\""
    }
    session = try HTTPSessionManager()
  }

  private static let evil = ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "a\0b"]

  @Test(arguments: evil) func `the type of a body is refused before anything is sent`(_ text: String) async throws {
    let request = try HTTPRequest(.post, to: server.url())
    for body in [HTTPBody.data(Data("x".utf8), contentType: text), .data(Data(), contentType: text)] {
      let error = await #expect(throws: HTTPError.self) { try await session.upload(body, with: request) }
      #expect(error?.kind == .cannotEncodeRequest)
      #expect(error?.message == "the content type of the body has a line break or a NUL in it; leave it out")
    }
    #expect(server.heads == [])
  }

  @Test(arguments: evil, [HTTPCredential.Scheme.basic, .digest, .any])
  func `a user and a password are refused`(_ text: String, _ scheme: HTTPCredential.Scheme) async throws {
    for credential in [
      HTTPCredential(user: text, password: "p", scheme: scheme),
      HTTPCredential(user: "u", password: text, scheme: scheme),
    ] {
      var options = HTTPTaskOptions()
      options.credential = credential
      let request = try HTTPRequest(.get, to: server.url())
      let error = await #expect(throws: HTTPError.self) { try await session.data(for: request, options: options) }
      #expect(error?.kind == .cannotEncodeRequest)
      #expect(error?.message.contains("credential has a line break or a NUL in it") == true)
    }
    #expect(server.heads == [])
  }

  @Test(arguments: evil) func `an answer to a challenge is refused as well`(_ text: String) async throws {
    var options = HTTPTaskOptions()
    options.onChallenge = { _ in HTTPCredential(user: text, password: "p") }
    let request = try HTTPRequest(.get, to: server.url())
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request, options: options) }
    #expect(error?.kind == .cannotEncodeRequest)
    #expect(server.heads.count == 1)
  }

  @Test(arguments: evil) func `the type of a form's part is refused`(_ text: String) throws {
    var form = MultipartFormData()
    form.append(Data(), name: "a", contentType: text)
    let error = #expect(throws: HTTPError.self) { try form.body() }
    #expect(error?.kind == .cannotEncodeRequest)
    #expect(error?.message == "the content type of the part 'a' has a line break or a NUL in it; leave it out")
  }

  @Test(arguments: evil) func `a session's user agent is refused when it is made`(_ text: String) throws {
    var configuration = HTTPSessionConfiguration()
    configuration.userAgent = text
    let error = #expect(throws: HTTPError.self) { try HTTPSessionManager(configuration: configuration) }
    #expect(error?.kind == .cannotEncodeRequest)
  }

  // MARK: User-Agent

  @Test func `every kind of task says who asks`() async throws {
    let server = try HeadServer()
    let request = try HTTPRequest(.get, to: server.url())
    let folder = try TemporaryFolder()
    _ = try await session.data(for: request)
    _ = try await session.upload(.data(Data("x".utf8)), with: HTTPRequest(.put, to: server.url()))
    _ = try await session.download(request, to: .file(folder.url("a")))
    _ = try await session.resumableDownload(request, to: folder.url("b"))
    for try await _ in try await session.stream(request).body {}
    _ = await session.batch([request])
    _ = try await Downloader(session: session, as: HTTPResponseSerializer()).value(for: request)
    _ = try await session.send(HTTPCall(.get, server.url().absoluteString), as: HTTPResponseSerializer())
    #expect(server.values("user-agent") == Array(repeating: [HTTPFields.userAgent()], count: 8))
  }

  @Test func `a request's own counts, then the session's, and a session may have none`() async throws {
    let server = try HeadServer()
    var configuration = HTTPSessionConfiguration()
    for agent in ["test/1", nil] {
      configuration.userAgent = agent
      let session = try HTTPSessionManager(configuration: configuration)
      _ = try await session.data(for: HTTPRequest(.get, to: server.url()))
      _ = try await session.data(for: HTTPRequest(.get, to: server.url(), headerFields: [.userAgent: "own"]))
      // The serializer of the session makes these requests.
      _ = try await session.send(server.url().absoluteString)
      _ = try await session.send(HTTPCall(.get, server.url().absoluteString, headerFields: [.userAgent: "own"]))
    }
    #expect(
      server.values("user-agent") == [["test/1"], ["own"], ["test/1"], ["own"], [], ["own"], [], ["own"]])
  }

  // MARK: Types of files

  /// The extensions of files that people often upload.
  private static let common = """
    txt md csv tsv log html htm css js mjs json jsonl xml xhtml yaml yml toml rtf ics vcf srt vtt sql wasm map rss atom plist \
    pdf doc docx xls xlsx ppt pptx odt ods odp epub mobi ps eps tex geojson gpx kml \
    jpg jpeg png gif webp avif heic heif bmp tif tiff svg ico psd jxl jp2 apng dng ttf otf woff woff2 \
    mp3 m4a aac wav flac ogg oga opus mid midi aif aiff weba wma mp4 m4v mov avi mkv webm mpg mpeg ogv wmv 3gp m3u8 \
    zip gz tgz bz2 xz zst 7z rar tar br iso jar apk deb rpm exe sh torrent sqlite pem cer crt der crl csr p12 pfx p7b p7m p7s p8 xbm
    """.split(separator: " ").map(String.init)

  @Test func `a hundred common files have their type, wherever they are uploaded`() async throws {
    #expect(Set(Self.common).count >= 100)
    let folder = try TemporaryFolder()
    for ending in Self.common {
      let file = try folder.write(Data(), to: "it.\(ending.uppercased())")
      let type = try #require(try HTTPBody.file(file).contentType, "\(ending)")
      #expect(type.split(separator: "/").count == 2 && type != "application/octet-stream")
      #expect((HTTPBody.contentType(ofFile: "a.b.\(ending)") ?? "application/octet-stream") == type)
    }
    #expect(try HTTPBody.file(folder.write(Data(), to: "it.unknown")).contentType == nil)
    #expect(try HTTPBody.file(folder.write(Data(), to: "png")).contentType == nil)
    #expect(try HTTPBody.file(folder.write(Data(), to: "a.png"), contentType: "a/b").contentType == "a/b")
    let server = try HeadServer()
    let file = try folder.write("x", to: "a.docx")
    _ = try await session.upload(.file(file), with: HTTPRequest(.put, to: server.url()))
    #expect(
      server.values("content-type") == [["application/vnd.openxmlformats-officedocument.wordprocessingml.document"]])
  }
}
