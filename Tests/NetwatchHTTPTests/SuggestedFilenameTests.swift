import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of the file names that servers suggest. Such a name cannot be trusted.
@Suite(.timeLimit(.minutes(5))) struct SuggestedFilenameTests {
  private func name(_ disposition: String? = nil, path: String? = nil, type: String? = nil) -> String {
    var response = HTTPResponse(status: .ok)
    if let disposition {
      response.headerFields.append(HTTPField(name: .contentDisposition, lenientValue: Array(disposition.utf8)))
    }
    response.headerFields[.contentType] = type
    return response.suggestedFilename(
      for: path.map { HTTPRequest(method: .get, scheme: "http", authority: "h", path: $0) })
  }

  @Test(arguments: [
    ("attachment; filename=\"a.txt\"", "a.txt"), ("attachment; filename=a.txt", "a.txt"),
    ("inline;filename = my file.txt ; x=y", "my file.txt"), ("ATTACHMENT; FileName=\"a;b.txt\"; size=1", "a;b.txt"),
    ("attachment; filename=\"say \\\"hi\\\" \\\\ no.txt\"", "no.txt"),
    ("attachment; filename=\"say \\\"hi\\\".txt\"", "say \"hi\".txt"),
    ("attachment; filename=\"plain.txt\"; filename*=UTF-8''na%C3%AFve%20%E2%82%AC.txt", "naïve €.txt"),
    ("attachment; filename=\"C:\\temp\\a.txt\"", "a.txt"),
    ("attachment; filename*=utf-8'de'%c3%bc.txt; filename=plain.txt", "ü.txt"),
    ("attachment; filename*=iso-8859-1''%fc.txt", "ü.txt"),
    ("attachment; filename*=\"UTF-8''%c3%bc.txt\"; filename=b.txt", "ü.txt"),
    ("attachment; filename*=\"UTF-8\"''%c3%bc.txt; filename=b.txt", "ü.txt"),
    ("attachment; filename*=\"utf-8\"'en'%c3%bc.txt", "ü.txt"), ("attachment; filename=\"\"; x", "url.bin"),
    ("attachment; filename*=UTF-8''%ff.txt; filename=b.txt", "b.txt"),
    ("attachment; filename*=koi8-r''%c1.txt; filename=b.txt", "b.txt"),
    ("attachment; filename*=nonsense; filename=b.txt", "b.txt"),
    ("attachment; filename=\"ü.txt\"", "ü.txt"), ("attachment; filename=first; filename=second", "first"),
    ("form-data; name=\"x\"; filename=\"a%20b.txt\"", "a%20b.txt"), ("filename=b.txt", "url.bin"),
    ("attachment", "url.bin"),
    ("attachment; filename=", "url.bin"), ("attachment; filename=\"\"", "url.bin"),
    ("attachment; filename*=UTF-8''%2e%2e", "url.bin"),
    (";;;=;filename=\"open", "open"), ("attachment; filename", "url.bin"),
  ])
  func `Content-Disposition is read as RFC 6266 says, with its charset first`(_ disposition: String, _ expected: String)
  {
    #expect(name(disposition, path: "/x/url.bin?filename=query.txt#fragment") == expected)
  }

  @Test(arguments: [
    ("../../etc/passwd", "passwd"), ("/etc/passwd", "passwd"), ("C:\\Windows\\evil.exe", "evil.exe"), ("..", nil),
    (".", nil), ("...", nil),
    (".bashrc", "bashrc"), (" .ssh", "ssh"), ("a/", nil), ("a/..", nil), ("a\\..\\", nil),
    ("\u{202e}gpj.exe", "gpj.exe"),
    ("a\u{0}b\u{7f}\u{9b}31m.txt", "ab31m.txt"), ("\u{200b}.hidden", "hidden"), ("a\u{2028}b\n", "ab"),
    ("  spaced  ", "spaced"), ("~", "~"),
    ("tool.tar.gz.netwatch-part", "tool.tar.gz_netwatch-part"), ("a.NetWatch-Part.json", "a_NetWatch-Part.json"),
    ("a..b", "a..b"), ("e\u{301}", "e\u{301}"), ("a\u{2044}b", "a\u{2044}b"), ("/\u{301}x", "\u{301}x"),
  ])
  func `a name is safe, whatever is asked for`(_ wanted: String, _ expected: String?) {
    let encoded = wanted.utf8.map { "%" + (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined()
    #expect(name("attachment; filename*=UTF-8''\(encoded)") == expected ?? "Unknown")
    #expect(name(path: "/\(encoded)") == expected ?? "Unknown")
  }

  @Test func `a long name is cut before its ending, between scalars`() {
    let long = name("attachment; filename=\"\(String(repeating: "ü", count: 300)).tar.gz\"")
    #expect(long == String(repeating: "ü", count: 126) + ".gz")
    #expect(long.utf8.count == 255)
    #expect(name("attachment; filename=\"\(String(repeating: "x", count: 100_000))\"").utf8.count == 255)
    #expect(name("attachment; filename=\"a.\(String(repeating: "x", count: 300))\"").utf8.count == 255)
    #expect(
      name("attachment; filename=\"\(String(repeating: "x", count: 255))\"") == String(repeating: "x", count: 255))
  }

  @Test(arguments: [
    ("text/plain; charset=utf-8", "txt"), ("application/json", "json"), ("text/html", "html"), ("image/jpeg", "jpeg"),
    ("text/javascript", "js"),
    ("application/gzip", "gz"), ("VIDEO/MP4", "mp4"), ("application/postscript", "ps"),
  ])
  func `where there is no name, there is its type`(_ type: String, _ ending: String) {
    #expect(name(path: "/", type: type) == "Unknown.\(ending)" && name(path: "/a/", type: type) == "Unknown.\(ending)")
    #expect(name(type: "x/y") == "Unknown" && name() == "Unknown")
  }

  @Test func `the path of the request is decoded, if it can be`() {
    #expect(name(path: "/a%20b/%C3%BC.txt?x=/y") == "ü.txt")
    #expect(name(path: "/a/100%") == "100%")
    #expect(name(path: "/a%2F..%2Fb") == "b")
  }

  @Test func `any words of a server are a safe name`() {
    var random = SplitMix(seed: 3)
    let words = [
      "attachment", ";", "filename", "filename*", "=", "\"", "\\", "UTF-8''", "%2e", "%2F", "..", "/", "\u{301}",
      "\u{202e}", " ", "'", "%",
      "\u{0}", "ü", "\t", "iso-8859-1''", "%ff", "😀", "a.txt",
    ]
    for _ in 0..<FuzzRounds.count(default: 5_000) {
      let count = random.oneIn(10) ? 300 : Int.random(in: 0...12, using: &random)
      let text = (0..<count).map { _ in words[Int.random(in: 0..<words.count, using: &random)] }.joined()
      for name in [name("attachment; filename" + text), name(text), name(path: text)] {
        let scalars = name.unicodeScalars
        let isSafe =
          1...255 ~= name.utf8.count && scalars.first != "."
          && !scalars.contains { $0 == "/" || $0 == "\\" || $0.value < 0x20 || $0.value == 0x7f }
        if !isSafe { Issue.record("\(text.debugDescription): \(name.debugDescription)") }
      }
    }
  }

  // MARK: Downloads

  @Test func `a download lies in its folder under that name, and replaces nothing unless it may`() async throws {
    let server = try NginxServer(
      server: """
        location = /named { add_header Content-Disposition 'attachment; filename="../../evil.txt"'; default_type text/plain; return 200 new; }
        location = /moved { return 302 /other.json; }
        """)
    try server.serve("{}", as: "other.json")
    let folder = try TemporaryFolder()
    try folder.makeFolder("in")
    let session = try HTTPSessionManager(baseURL: server.url)
    let place = HTTPDestination.suggested(in: folder.url("in"))
    let named = try HTTPRequest(.get, to: session.url(for: "named"))
    let reply = try await session.download(named, to: place)
    #expect(reply.value.path == folder.file("in/evil.txt") && reply.suggestedFilename == "evil.txt")
    #expect(folder.text(of: "in/evil.txt") == "new")
    let moved = try await session.download(HTTPRequest(.get, to: session.url(for: "moved")), to: place)
    #expect(moved.value.lastPathComponent == "other.json")
    try folder.write("old", to: "in/evil.txt")
    let error = await #expect(throws: HTTPError.self) { try await session.download(named, to: place) }
    #expect(error?.kind == .fileFailed && folder.text(of: "in/evil.txt") == "old")
    _ = try await session.download(named, to: .suggested(in: folder.url("in"), replacesExisting: true))
    #expect(folder.text(of: "in/evil.txt") == "new")
    #expect(try folder.names == ["in"] && FileManager.default.contentsOfDirectory(atPath: folder.file("in")).count == 2)
  }
}
