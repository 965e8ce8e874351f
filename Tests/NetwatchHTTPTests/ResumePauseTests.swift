import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of pauses in a download from nginx.
@Suite(.timeLimit(.minutes(5))) struct ResumePauseTests {
  private let server: NginxServer
  private let session: HTTPSessionManager
  private let folder: TemporaryFolder
  private let observer = RecordingObserver()
  private static let content = Data((0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 41 &+ $0 >> 11) })
  private let ends = Box<[String]>([])

  init() throws {
    server = try NginxServer(
      server: """
        location /slow/ { alias files/; limit_rate 1m; limit_rate_after 64k; }
        location /drip/ { alias files/; limit_rate 1k; limit_rate_after 256k; }
        location /later/ {
          alias files/; set $rate 1k; limit_rate_after 256k; limit_rate $rate;
          if ($http_range) { set $rate 0; }
        }
        """)
    session = try HTTPSessionManager(baseURL: server.url, observer: observer)
    folder = try TemporaryFolder()
    try server.serve(Self.content, as: "large.bin")
    try server.serve(String(repeating: "compress me ", count: 100_000), as: "large.txt")
  }

  private var target: URL { folder.url("here.bin") }
  private var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }

  private func download(_ path: String = "slow/large.bin", _ options: HTTPTaskOptions = .init()) throws -> HTTPDownload
  {
    session.resumableDownload(try HTTPRequest(.get, to: session.url(for: path)), to: target, options: options) {
      [ends] result in
      switch result {
      case .success: ends.change { $0.append("success") }
      case .failure(let error): ends.change { $0.append(error.kind.name) }
      }
    }
  }

  private func end() async throws -> [String] { try await eventually(ends.now) { !$0.isEmpty } }

  /// Pauses a download after `count` bytes. If the server does not limit its rate, the download may already be over on
  /// a busy machine.
  private func pause(_ download: HTTPDownload, after count: Int64 = 100_000) async throws {
    try await eventually(download.progress.received) { $0 > count }
    download.pause()
    #expect(download.state == .suspended)
  }

  /// Tests two files that were downloaded to the same place. The caller has kept the data of the first one.
  @Test(arguments: [true, false]) func `data about another file than the one that is there is not used`(
    _ hasData: Bool
  ) async throws {
    let whole = Data((0..<1_000).map { UInt8($0 % 251) })
    let heads = Box<[String]>([])
    let server = try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        heads.change { $0.append(head) }
        let isPart = head.contains("Range: bytes=500-")
        connection.write(
          isPart
            ? "HTTP/1.1 206 Partial Content\r\nETag: \"a\"\r\nContent-Range: bytes 500-999/1000\r\nContent-Length: 500\r\n\r\n"
            : "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 1000\r\n\r\n")
        connection.write(isPart ? whole[500...] : whole)
      }
    }
    defer { server.stop() }
    let folder = try TemporaryFolder()
    try folder.write(String(repeating: "b", count: 500), to: "file.netwatch-part")
    let other = server.url.appending(path: "b").absoluteString
    if hasData {
      try folder.write(
        #"{"etag":"\"b\"","offset":500,"total":1000,"url":"\#(other)","version":1}"#, to: "file.netwatch-part.json")
    }
    let url = server.url.appending(path: "a")
    let data = ResumeData(url: url.absoluteString, offset: 100, validator: .entityTag("\"a\""), total: 1_000)
    let session = try HTTPSessionManager()
    _ = try await session.resumableDownload(
      HTTPRequest(.get, to: url), to: folder.url("file"), resumeData: data)
    #expect(try Data(contentsOf: folder.url("file")) == whole)
    #expect(heads.now.count == 1 && !heads.now[0].contains("Range:"))
  }

  @Test func `a pause keeps what has come, and the rest is asked for`() async throws {
    var options = HTTPTaskOptions()
    let progress = Box<[HTTPProgress]>([])
    options.onProgress = { value in progress.change { $0.append(value) } }
    let download = try download("later/large.bin", options)
    #expect(download.state == .suspended)
    download.resume()
    try await pause(download)
    // The activity of the download ends with its connection.
    #expect(try await observer.first(2) == [.began(isIndicated: true), .ended])
    let kept = try #require(await eventually(download.resumeData) { $0 != nil })
    #expect(kept.offset > 100_000 && kept.total == 4_000_000)
    download.resume()
    #expect(try await end() == ["success"])
    #expect(try Data(contentsOf: target) == Self.content)
    #expect(names == ["here.bin"])
    #expect(download.state == .finished)
    let log = try await server.log(lines: 2)
    #expect(log.map { $0.contains(" 206 ") } == [false, true])
    let all = progress.now
    #expect(all.allSatisfy { $0.received <= $0.totalToReceive ?? .max })
    #expect(zip(all, all.dropFirst()).allSatisfy { $0.received <= $1.received })
    #expect(all.last?.received == 4_000_000)
    #expect(try await observer.first(4).last == .ended)
  }

  @Test func `a download tells its states and its progress, alone and in a tree`() async throws {
    let download = try download("later/large.bin")
    let tree = HTTPProgressTree()
    tree.add(download)
    #expect(tree.progress.fraction == 0)
    let reader = Task { await download.progressUpdates().reduce(into: [Int64]()) { $0.append($1.received) } }
    var states = download.states.makeAsyncIterator()
    #expect(await states.next(isolation: #isolation) == .suspended)
    download.resume()
    #expect(await states.next(isolation: #isolation) == .running)
    try await pause(download)
    #expect(await states.next(isolation: #isolation) == .suspended)
    let fraction = try #require(tree.progress.fraction)
    #expect(fraction > 0.025 && fraction < 1)
    download.resume()
    #expect(try await end() == ["success"])
    var rest: [HTTPTask.State] = []
    while let state = await states.next(isolation: #isolation) { rest.append(state) }
    #expect(rest.last == .finished && rest.count <= 2)
    let received = await reader.value
    #expect(received.last == 4_000_000 && received == received.sorted())
    #expect(tree.progress.fraction == 1 && tree.progress.received == 4_000_000)
  }

  @Test func `a tree that is cancelled ends its downloads, and keeps what has come`() async throws {
    let download = try download("drip/large.bin")
    let tree = HTTPProgressTree()
    tree.add(download)
    download.resume()
    try await eventually(download.progress.received) { $0 > 100_000 }
    tree.cancel()
    #expect(try await end() == ["cancelled"])
    #expect(tree.progress.fraction == 1)
    #expect(names == ["here.bin.netwatch-part", "here.bin.netwatch-part.json"])
  }

  @Test func `many pauses at random give the same file`() async throws {
    let download = try download()
    for round in 0..<20 {
      download.resume()
      if round % 3 == 0 { download.pause() }
      if round % 3 == 1 {
        let before = download.progress.received
        try await eventually(download.progress.received > before || download.state == .finished) { $0 }
        download.pause()
      } else {
        // The pause comes at the beginning, while the download is prepared, or in the middle.
        for _ in 0..<Int.random(in: 0...4) { _ = await session.tasks() }
        download.pause()
        download.resume()
      }
      #expect(download.progress.received <= download.progress.totalToReceive ?? .max)
    }
    download.resume()
    #expect(try await end() == ["success"])
    #expect(try Data(contentsOf: target) == Self.content)
    #expect(names == ["here.bin"])
  }

  @Test func `another session goes on with what one has left`() async throws {
    do {
      let first = try HTTPSessionManager(baseURL: server.url)
      let download = first.resumableDownload(try HTTPRequest(.get, to: first.url(for: "later/large.bin")), to: target) {
        [ends] _ in ends.change { $0.append("first") }
      }
      download.resume()
      try await pause(download)
      first.invalidate()
      await first.waitUntilInvalidated()
      #expect(ends.now == ["first"])
    }
    #expect(names == ["here.bin.netwatch-part", "here.bin.netwatch-part.json"])
    ends.change { $0 = [] }
    try download("later/large.bin").resume()
    #expect(try await end() == ["success"])
    #expect(try Data(contentsOf: target) == Self.content)
    #expect(try await server.log(lines: 2).last?.contains(" 206 ") == true)
  }

  @Test func `a cancelled download leaves nothing, or what it is told to`() async throws {
    let first = try download("drip/large.bin")
    first.resume()
    try await eventually(first.progress.received) { $0 > 0 }
    first.cancel(keepsFiles: true)
    #expect(try await end() == ["cancelled"])
    #expect(names == ["here.bin.netwatch-part", "here.bin.netwatch-part.json"])
    let second = try download("drip/large.bin")
    second.resume()
    try await eventually(second.progress.received) { $0 > 200_000 }
    second.cancel()
    second.cancel()
    second.resume()
    try await eventually(ends.now.count) { $0 == 2 }
    #expect(ends.now == ["cancelled", "cancelled"])
    #expect(names == [])
  }

  @Test func `a paused download that nobody holds ends, and its files stay`() async throws {
    do {
      let download = try download("drip/large.bin")
      download.resume()
      try await pause(download)
    }
    #expect(try await end() == ["cancelled"])
    #expect(names == ["here.bin.netwatch-part", "here.bin.netwatch-part.json"])
    // A new download of the same file begins at once, because the completion of the paused one has released the file.
    try download("large.bin").resume()
    #expect(try await eventually(ends.now) { $0.count == 2 } == ["cancelled", "success"])
    #expect(try Data(contentsOf: target) == Self.content)
  }

  @Test func `a paused download ends with its session`() async throws {
    let download = try download("drip/large.bin")
    download.resume()
    try await pause(download)
    session.invalidate()
    await session.waitUntilInvalidated()
    #expect(ends.now == ["invalidated"])
    download.resume()
    #expect(download.state == .finished)
    #expect(names == ["here.bin.netwatch-part", "here.bin.netwatch-part.json"])
  }

  @Test func `two downloads do not write into one file`() async throws {
    let first = try download("drip/large.bin")
    first.resume()
    try await eventually(first.progress.received) { $0 > 0 }
    let request = try HTTPRequest(.get, to: session.url(for: "drip/large.bin"))
    let error = await #expect(throws: HTTPError.self) { try await session.resumableDownload(request, to: target) }
    #expect(error?.kind == .fileFailed)
    #expect(error?.code == EWOULDBLOCK)
    first.cancel()
    #expect(try await end() == ["cancelled"])
    #expect(names == [])
  }

  @Test func `a session that has ended takes no download`() async throws {
    session.invalidate()
    await session.waitUntilInvalidated()
    let download = try download()
    download.resume()
    #expect(try await end() == ["invalidated"])
    #expect(download.state == .finished)
    #expect(names == [])
  }

  @Test func `what the server could compress comes as it is stored`() async throws {
    let download = try download("gzip/large.txt")
    download.resume()
    #expect(try await end() == ["success"])
    #expect(try Data(contentsOf: target).count == 1_200_000)
  }

  @Test func `only a GET is resumed`() async throws {
    let request = try HTTPRequest(.post, to: session.url(for: "method"))
    let error = await #expect(throws: HTTPError.self) { try await session.resumableDownload(request, to: target) }
    #expect(error?.kind == .cannotEncodeRequest)
  }

  @Test func `an awaited download that is cancelled keeps what has come`() async throws {
    let (session, target) = (session, target)
    let request = try HTTPRequest(.get, to: session.url(for: "drip/large.bin"))
    let ended = Box<String?>(nil)
    let waiting = Task {
      do {
        return try await session.resumableDownload(request, to: target)
      } catch {
        ended.change { $0 = "\(error)" }
        throw error
      }
    }
    let part = folder.url("here.bin.netwatch-part").path
    func size() throws -> Int {
      if let error = ended.now { throw TestFailure("the download has ended by itself: \(error)") }
      return (try? FileManager.default.attributesOfItem(atPath: part))?[.size] as? Int ?? 0
    }
    try await eventually(try size()) { $0 > 100_000 }
    waiting.cancel()
    let error = await #expect(throws: HTTPError.self) { try await waiting.value }
    #expect(error?.kind == .cancelled)
    #expect(names == ["here.bin.netwatch-part", "here.bin.netwatch-part.json"])
  }
}
