import BenchSupport
import FoundationEssentials
import HTTPTypes
import NetwatchHTTP

/// `load` asks for the next in the completion of the last, as the program in C does; `await` awaits each in a task of its own.
@main
final class BenchHTTP: Client {
  /// Take turns.
  private let sessions: [HTTPSessionManager]

  private let request: HTTPRequest

  private let options: HTTPTaskOptions

  convenience init(_ url: String, atOnce: Int) throws { try self.init(url, atOnce: atOnce, threads: nil, sessions: 1) }

  convenience init(_ url: String, atOnce: Int, threads: Int, sessions: Int) throws {
    try self.init(url, atOnce: atOnce, threads: HTTPThreads(count: threads), sessions: sessions)
  }

  private init(_ url: String, atOnce: Int, threads: HTTPThreads?, sessions: Int) throws {
    guard let url = URL(string: url) else { throw BenchFailure("not a URL: \(url)") }
    request = try HTTPRequest(.get, to: url)
    var configuration = HTTPSessionConfiguration()
    configuration.maximumConnectionsPerHost = max(atOnce / sessions, 1)
    // The same request as the program in C makes.
    configuration.acceptsCompressedResponses = false
    configuration.handlesCookies = false
    configuration.userAgent = nil
    self.sessions = try (0..<sessions).map { [configuration] _ in
      try HTTPSessionManager(configuration: configuration, threads: threads)
    }
    var options = HTTPTaskOptions()
    options.executor = .immediate
    self.options = options
  }

  func load(_ count: Int, _ atOnce: Int) async throws {
    try await withThrowingTaskGroup { group in
      for worker in 0..<atOnce {
        group.addTask {
          try await withCheckedThrowingContinuation {
            self.get(
              count: (count - worker + atOnce - 1) / atOnce, by: self.sessions[worker % self.sessions.count], $0)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  /// One after the other.
  private func get(count: Int, by session: HTTPSessionManager, _ done: CheckedContinuation<Void, any Error>) {
    guard count > 0 else { return done.resume() }
    let task = session.dataTask(request, options: options) { [self] result in
      do {
        let reply = try result.get()
        try check(reply.response.status.code, reply.value.count)
        get(count: count - 1, by: session, done)
      } catch {
        done.resume(throwing: error)
      }
    }
    task.resume()
  }

  func get() async throws -> (status: Int, length: Int) {
    let reply = try await sessions[0].data(for: request)
    return (reply.response.status.code, reply.value.count)
  }

  func download(to path: String) async throws {
    _ = try await sessions[0].download(request, to: .file(URL(filePath: path), replacesExisting: true))
  }

  func close() async throws {
    for session in sessions { session.invalidate() }
    for session in sessions { await session.waitUntilInvalidated() }
  }
}
