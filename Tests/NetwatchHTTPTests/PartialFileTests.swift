import Foundation
import Glibc
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of the files that a download finds beside its destination. Another user may have put them there.
@Suite(.timeLimit(.minutes(5))) struct PartialFileTests {
  private let folder: TemporaryFolder
  private let session: HTTPSessionManager
  private let server: PartServer
  private static let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 41) })

  init() throws {
    folder = try TemporaryFolder()
    session = try HTTPSessionManager()
    server = try PartServer(PartServer.Behaviour(content: Self.content, cut: 100_000))
  }

  private var target: URL { folder.url("here.bin") }
  private var part: String { target.path + ".netwatch-part" }
  private var data: String { part + ".json" }
  private var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }

  private func download(to file: URL? = nil, options: HTTPTaskOptions = .init()) async throws {
    _ = try await session.resumableDownload(HTTPRequest(.get, to: server.url), to: file ?? target, options: options)
  }

  /// Leaves the files of a download that was cut short.
  private func cut() async throws {
    await #expect(throws: HTTPError.self) { try await download() }
    #expect(names == ["here.bin.netwatch-part", "here.bin.netwatch-part.json"])
    server.change { $0.cut = nil }
  }

  private func status(_ path: String) -> stat {
    var status = stat()
    _ = unsafe lstat(path, &status)
    return status
  }

  private func expectNewBeginning() async throws {
    try await download()
    #expect(try Data(contentsOf: target) == Self.content)
    #expect(server.fields("range") == [nil, nil])
  }

  // MARK: Ownership

  @Test func `a part that belongs to this user is resumed`() async throws {
    try await cut()
    try await download()
    #expect(server.fields("range") == [nil, "bytes=100000-"])
    #expect(try Data(contentsOf: target) == Self.content)
  }

  @Test(arguments: [mode_t(0o664), 0o646, 0o622, 0o666])
  func `a part that others may write is not resumed`(_ rights: mode_t) async throws {
    try await cut()
    #expect(unsafe chmod(part, rights) == 0)
    // Another process that has the file open could still write into it.
    let other = unsafe open(part, O_WRONLY)
    defer { close(other) }
    try await expectNewBeginning()
    #expect(unsafe pwrite(other, "evil", 4, 0) == 4)
    #expect(try Data(contentsOf: target) == Self.content)
    #expect(names == ["here.bin"])
  }

  @Test(arguments: [mode_t(0o664), 0o606]) func `resume data open to others are unused`(_ rights: mode_t) async throws {
    try await cut()
    #expect(unsafe chmod(data, rights) == 0)
    try await expectNewBeginning()
    #expect(names == ["here.bin"])
  }

  @Test func `a part with a second hard link is not resumed, and the other name keeps its bytes`() async throws {
    try await cut()
    let other = folder.url("other").path
    #expect(unsafe link(part, other) == 0)
    try await expectNewBeginning()
    #expect(try Data(contentsOf: URL(filePath: other)) == Self.content.prefix(100_000))
    #expect(names == ["here.bin", "other"])
  }

  @Test func `resume data with a second hard link are not used`() async throws {
    try await cut()
    #expect(unsafe link(data, folder.url("other").path) == 0)
    try await expectNewBeginning()
  }

  @Test func `data behind a symbolic link are not read`() async throws {
    try await cut()
    #expect(unsafe rename(data, folder.url("other").path) == 0)
    #expect(unsafe symlink(folder.url("other").path, data) == 0)
    try await expectNewBeginning()
    #expect(names == ["here.bin", "other"])
  }

  @Test func `a symbolic link in the place of the file is an error, and leads nowhere`() async throws {
    try folder.write("mine", to: "other")
    #expect(unsafe symlink(folder.url("other").path, part) == 0)
    let error = await #expect(throws: HTTPError.self) { try await download() }
    #expect(error?.kind == .fileFailed)
    #expect(error?.code == ELOOP)
    #expect(folder.text(of: "other") == "mine")
  }

  @Test func `a link in the place of what is about to be written is not followed`() async throws {
    try folder.write("mine", to: "other")
    #expect(unsafe link(folder.url("other").path, data + ".new") == 0)
    #expect(unsafe symlink(folder.url("other").path, part + ".new") == 0)
    await #expect(throws: HTTPError.self) { try await download() }
    #expect(folder.text(of: "other") == "mine")
    server.change { $0.cut = nil }
    server.change { $0.answerToPart = { _, content in ("HTTP/1.1 200 OK\r\n", content) } }
    try await download()
    #expect(folder.text(of: "other") == "mine")
    #expect(try Data(contentsOf: target) == Self.content)
  }

  /// Only root can give a file to another owner.
  @Test(.enabled(if: geteuid() == 0)) func `a part of another owner is not resumed`() async throws {
    try await cut()
    #expect(unsafe chown(part, 12_345, 12_345) == 0)
    try await expectNewBeginning()
    #expect(status(target.path).st_uid == geteuid())
  }

  @Test(.enabled(if: geteuid() == 0)) func `resume data of another owner are not used`() async throws {
    try await cut()
    #expect(unsafe chown(data, 12_345, 12_345) == 0)
    try await expectNewBeginning()
  }

  // MARK: Rights and names

  @Test(arguments: ["here.bin", String(repeating: "n", count: 240)])
  func `nobody else may write a part, and the whole file has the rights that files have`(_ name: String) async throws {
    let file = folder.url(name)
    // The download runs in a process of its own, because the umask belongs to the whole process.
    func download(_ command: String) throws {
      try Programs.run([
        "sh", "-c", "umask 002; \(command)", Programs.httpProbe, "download", server.url.absoluteString, file.path,
      ])
    }
    try download("! \"$0\" \"$@\"")
    let rights = names.map { status(folder.url($0).path).st_mode & 0o777 }
    #expect(rights == [0o644, 0o600], "\(names)")
    server.change { $0.cut = nil }
    try download("\"$0\" \"$@\"")
    #expect(names == [name])
    #expect(status(file.path).st_mode & 0o777 == 0o664)
    #expect(server.fields("range") == [nil, "bytes=100000-"])
  }

  @Test(arguments: [230, 233, 240, 255])
  func `a name may be as long as the file system allows`(_ length: Int) async throws {
    let file = folder.url(String(repeating: "n", count: length - 4) + ".bin")
    await #expect(throws: HTTPError.self) { try await download(to: file) }
    #expect(names.count == 2)
    #expect(names.allSatisfy { $0.utf8.count <= 255 })
    server.change { $0.cut = nil }
    try await download(to: file)
    #expect(try Data(contentsOf: file) == Self.content)
    #expect(names == [file.lastPathComponent])
    #expect(server.fields("range") == [nil, "bytes=100000-"])

    try FileManager.default.removeItem(at: file)
    _ = try await session.download(HTTPRequest(.get, to: server.url), to: .file(file))
    #expect(names == [file.lastPathComponent])
  }

  @Test func `names that differ at their ends alone have files of their own`() {
    let long = String(repeating: "ü", count: 125)
    let bases = ["a", "b", "é"].map { FileName.companion(of: "/x/\(long)\($0)", suffix: ".netwatch-part.json.new") }
    #expect(Set(bases).count == 3)
    for base in bases {
      #expect(base.hasPrefix("/x/üü"))
      #expect(base.utf8.count - 3 + ".netwatch-part.json.new".utf8.count <= 255)
    }
    #expect(FileName.companion(of: "/x/short", suffix: ".part") == "/x/short")
    #expect(FileName.companion(of: "short", suffix: ".part") == "short")
  }

  @Test func `a name that is too long is an error before anything is asked`() async throws {
    let file = folder.url(String(repeating: "n", count: 256))
    for isResumable in [true, false] {
      let error = await #expect(throws: HTTPError.self) {
        if isResumable { return try await download(to: file) }
        _ = try await session.download(HTTPRequest(.get, to: server.url), to: .file(file))
      }
      #expect(error?.code == ENAMETOOLONG)
    }
    #expect(names == [])
  }
}
