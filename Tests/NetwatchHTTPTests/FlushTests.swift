import CSeccomp
import Foundation
import Glibc
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests that a file is on its disk before it gets its name. A kernel that refuses `fsync` shows this.
@Suite(.timeLimit(.minutes(5))) struct FlushTests {
  /// Returns a session whose thread gets `EIO` for every `fsync`. A filter of system calls (seccomp) does this, for
  /// this thread only. A new thread has the filters of the thread that makes it.
  private static func sessionWithoutFlush() async throws -> HTTPSessionManager {
    // The result is passed under a lock, because ThreadSanitizer does not know the order that a continuation ensures.
    let made = Lock<Result<HTTPSessionManager, any Error>?>(nil)
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let result = Result {
          try refuseFlush()
          return try HTTPSessionManager()
        }
        made.withLock { $0 = result }
        continuation.resume()
      }
    }
    return try #require(made.withLock { $0 }).get()
  }

  private static func refuseFlush() throws {
    guard netwatch_test_refuse_flush() == 0 else { throw TestFailure("no filter of system calls: \(errno)") }
  }

  @Test(arguments: [false, true])
  func `a download is flushed before it is put into its place, if that is wanted`(_ isResumable: Bool) async throws {
    let server = try PartServer(PartServer.Behaviour(content: Data("content".utf8)))
    let folder = try TemporaryFolder()
    let session = try await Self.sessionWithoutFlush()
    var options = HTTPTaskOptions()
    func download(_ name: String) async throws {
      let request = try HTTPRequest(.get, to: server.url)
      if isResumable {
        _ = try await session.resumableDownload(request, to: folder.url(name), options: options)
      } else {
        _ = try await session.download(request, to: .file(folder.url(name)), options: options)
      }
    }
    try await download("plain")
    #expect(folder.text(of: "plain") == "content")
    options.flushesFiles = true
    let error = await #expect(throws: HTTPError.self) { try await download("flushed") }
    #expect(error?.kind == .fileFailed)
    #expect(error?.code == EIO)
    #expect(error?.operation.hasPrefix("fsync ") == true)
    #expect(!FileManager.default.fileExists(atPath: folder.url("flushed").path))
  }
}
