import Foundation
import Glibc
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct DownloadTests {
  private let server: NginxServer
  private let session: HTTPSessionManager
  private let folder: TemporaryFolder
  private static let content = Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 41) })

  init() throws {
    server = try NginxServer()
    session = try HTTPSessionManager(baseURL: server.url)
    folder = try TemporaryFolder()
    try server.serve(Self.content, as: "large.bin")
  }

  private var request: HTTPRequest { get throws { try HTTPRequest(.get, to: session.url(for: "large.bin")) } }
  private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] }

  @Test func `a download lies where it was wanted, and nothing else does`() async throws {
    let target = folder.url("here.bin")
    let reply = try await session.download(request, to: .file(target))
    #expect(reply.value == target)
    #expect(try Data(contentsOf: target) == Self.content)
    #expect(names == ["here.bin"])
  }

  @Test func `its name can depend on the response`() async throws {
    let reply = try await session.download(
      request, to: .named { [folder] in folder.url("\($0.status.code)-\($0.headerFields[.contentLength] ?? "").bin") })
    #expect(reply.value == folder.url("200-2000000.bin"))
    #expect(names == ["200-2000000.bin"])
  }

  @Test func `an existing file is kept, and that is an error`() async throws {
    let target = try folder.write("old", to: "here.bin")
    let error = await #expect(throws: HTTPError.self) { try await session.download(request, to: .file(target)) }
    #expect(error?.kind == .fileFailed)
    #expect(error?.code == EEXIST)
    #expect(folder.text(of: "here.bin") == "old")
    #expect(names == ["here.bin"])
  }

  @Test func `an existing file is replaced where that is wanted`() async throws {
    let target = try folder.write("old", to: "here.bin")
    _ = try await session.download(request, to: .file(target, replacesExisting: true))
    #expect(try Data(contentsOf: target) == Self.content)
    #expect(names == ["here.bin"])
  }

  @Test(arguments: [true, false]) func `a link stays, and what is no file is no destination`(_ isResumable: Bool)
    async throws
  {
    func download(to target: URL) async throws(HTTPError) {
      let request = try HTTPRequest(.get, to: session.url(for: "large.bin"))
      if isResumable {
        _ = try await session.resumableDownload(request, to: target, replacesExisting: true)
      } else {
        _ = try await session.download(request, to: .file(target, replacesExisting: true))
      }
    }
    let (file, link) = (try folder.write("old", to: "there/file"), folder.url("link"))
    try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "there/file")
    try await download(to: link)
    #expect(try Data(contentsOf: file) == Self.content)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "there/file")

    try FileManager.default.createSymbolicLink(atPath: folder.file("new"), withDestinationPath: "made")
    try await download(to: folder.url("new"))
    #expect(try Data(contentsOf: folder.url("made")) == Self.content)
    try FileManager.default.createSymbolicLink(atPath: folder.file("loop"), withDestinationPath: "loop")
    _ = unsafe mkfifo(folder.file("pipe"), 0o600)
    for (name, words) in [("loop", "Too many levels"), ("pipe", "it is a named pipe"), ("there", "it is a folder")] {
      let error = await #expect(throws: HTTPError.self) { try await download(to: folder.url(name)) }
      #expect(error?.kind == .fileFailed)
      #expect(error?.message.contains(words) == true, "\(error!)")
    }
    // Only root can make a device, so this test uses one that always exists.
    let device = await #expect(throws: HTTPError.self) { try await download(to: URL(filePath: "/dev/null")) }
    #expect(device?.message.contains("it is a device") == true)
    #expect(names.sorted() == ["link", "loop", "made", "new", "pipe", "there"])
    // Another user's link could lead anywhere. So could a link of this user that leads to such a link.
    guard geteuid() == 0 else { return }
    #expect(unsafe lchown(link.path, 1, 1) == 0)
    try FileManager.default.createSymbolicLink(atPath: folder.file("own"), withDestinationPath: "link")
    for target in [link, folder.url("own")] {
      let error = await #expect(throws: HTTPError.self) { try await download(to: target) }
      #expect(error?.message.contains("somebody else's link") == true)
    }
  }

  @Test func `the folders of a file are made where that is wanted`() async throws {
    let target = folder.url("a/b/here.bin")
    let error = await #expect(throws: HTTPError.self) { try await session.download(request, to: .file(target)) }
    #expect(error?.kind == .fileFailed && names == [])
    _ = try await session.download(request, to: .file(target, createsFolders: true))
    #expect(try Data(contentsOf: target) == Self.content)
    let other = folder.url("c/d")
    _ = try await session.download(request, to: .suggested(in: other, createsFolders: true))
    #expect(try Data(contentsOf: other.appending(path: "large.bin")) == Self.content)
    _ = try await session.download(request, to: .named(createsFolders: true) { _ in other.appending(path: "e/f") })
    #expect(try Data(contentsOf: other.appending(path: "e/f")) == Self.content)
    // If the folder cannot be made, the error comes before anything is written.
    let blocked = target.appending(path: "x")
    let failure = await #expect(throws: HTTPError.self) {
      try await session.download(request, to: .file(blocked, createsFolders: true))
    }
    #expect(failure?.kind == .fileFailed)
    await #expect(throws: HTTPError.self) {
      try await session.download("missing", to: .file(folder.url("g/h"), createsFolders: true))
    }
    #expect(names.sorted() == ["a", "c"])
  }

  @Test func `a resumable download makes its folders where that is wanted`() async throws {
    let target = folder.url("a/b/here.bin")
    await #expect(throws: HTTPError.self) { try await session.resumableDownload("large.bin", to: target) }
    _ = try await session.resumableDownload("large.bin", to: target, createsFolders: true)
    #expect(try Data(contentsOf: target) == Self.content)
  }

  @Test func `a file that was downloaded is decoded, and stays`() async throws {
    try server.serve(Data(#"{"name": "Ali"}"#.utf8), as: "user.json")
    let target = folder.url("user.json")
    let reply = try await session.download("user.json", to: .file(target))
    let decoder = JSONDecoder()
    #expect(try await reply.serialized(as: [String: String].self, decoder: decoder).value == ["name": "Ali"])
    let text = try await reply.serialized(as: TextResponseSerializer())
    #expect(text.value == #"{"name": "Ali"}"# && text.response == reply.response)
    let large = await #expect(throws: HTTPError.self) {
      try await reply.serialized(as: HTTPResponseSerializer(), maximumBytes: 14)
    }
    #expect(large?.kind == .responseTooLarge)
    let wrong = await #expect(throws: HTTPError.self) { try await reply.serialized(as: Int.self) }
    #expect(wrong?.kind == .cannotDecodeContentData)
    #expect(names == ["user.json"])
    try FileManager.default.removeItem(at: target)
    let gone = await #expect(throws: HTTPError.self) { try await reply.serialized(as: TextResponseSerializer()) }
    #expect(gone?.kind == .fileFailed && gone?.code == ENOENT)
  }

  @Test func `a file that comes up meanwhile is not lost`() async throws {
    let target = folder.url("here.bin")
    let server = try ScriptedServer { [folder] connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
      // The download has begun when its file exists.
      _ = try? eventually(try folder.names) { !$0.isEmpty }
      _ = try? folder.write("old", to: "here.bin")
      connection.write("new!")
      connection.waitForEnd()
    }
    defer { server.stop() }
    let error = await #expect(throws: HTTPError.self) {
      try await session.download(HTTPRequest(.get, to: server.url), to: .file(target))
    }
    #expect(error?.kind == .fileFailed)
    #expect(error?.code == EEXIST)
    #expect(folder.text(of: "here.bin") == "old")
    #expect(names == ["here.bin"])
  }

  /// Checks a folder that is replaced during a download. The owner of a folder above the file can do that.
  @Test(arguments: [false, true])
  func `a folder that is exchanged meanwhile gets nothing`(_ isResumable: Bool) async throws {
    let goesOn = DispatchSemaphore(value: 0)
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\nETag: \"1\"\r\nAccept-Ranges: bytes\r\n\r\n")
      connection.write(Data(repeating: 1, count: 100_000))
      goesOn.wait()
      connection.write(Data(repeating: 1, count: 100_000))
      connection.waitForEnd()
    }
    defer { server.stop() }
    let files = FileManager.default
    for name in ["theirs", "other"] {
      try files.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
    }
    let target = folder.url("theirs/it")
    let received = Box<Int64>(0)
    var options = HTTPTaskOptions()
    options.progressInterval = .zero
    options.onProgress = { progress in received.change { $0 = progress.received } }
    let (request, session, given) = (try HTTPRequest(.get, to: server.url), session, options)
    async let file =
      isResumable
      ? session.resumableDownload(request, to: target, options: given).value
      : session.download(request, to: .file(target), options: given).value
    try await eventually(received.now) { $0 >= 100_000 }
    try files.moveItem(atPath: folder.file("theirs"), toPath: folder.file("moved"))
    try files.createSymbolicLink(atPath: folder.file("theirs"), withDestinationPath: "other")
    goesOn.signal()
    _ = try await file
    #expect(try files.contentsOfDirectory(atPath: folder.file("other")) == [])
    #expect(try files.contentsOfDirectory(atPath: folder.file("moved")) == ["it"])
  }

  @Test func `an error page never lands in the file`() async throws {
    let target = folder.url("here.bin")
    let error = await #expect(throws: HTTPError.self) {
      try await session.download(HTTPRequest(.get, to: session.url(for: "missing")), to: .file(target))
    }
    #expect(error?.kind == .badServerResponse)
    #expect(error?.response?.status == .notFound)
    #expect(names.isEmpty)
  }

  @Test func `a folder that is not there is an error`() async throws {
    let target = folder.url("nowhere/here.bin")
    let error = await #expect(throws: HTTPError.self) { try await session.download(request, to: .file(target)) }
    #expect(error?.kind == .fileFailed)
    #expect(error?.code == ENOENT)
  }

  @Test func `half a file is none`() async throws {
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
      connection.reset()
    }
    defer { server.stop() }
    let error = await #expect(throws: HTTPError.self) {
      try await session.download(HTTPRequest(.get, to: server.url), to: .file(folder.url("here.bin")))
    }
    #expect(error?.kind == .connectionLost)
    #expect(names.isEmpty)
  }

  @Test func `a full disk is an error, and leaves nothing behind`() async throws {
    try Programs.run(
      ["mount", "-t", "tmpfs", "-o", "size=256k", "netwatch-test", folder.path], in: nil)
    defer { _ = try? Programs.run(["umount", "-l", folder.path]) }
    let error = await #expect(throws: HTTPError.self) {
      try await session.download(request, to: .file(folder.url("here.bin")))
    }
    #expect(error?.kind == .fileFailed)
    #expect(error?.code == ENOSPC)
    #expect(names.isEmpty)
  }
}
