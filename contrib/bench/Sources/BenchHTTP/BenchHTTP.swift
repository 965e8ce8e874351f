import BenchSupport
import Foundation
import HTTPTypes
import NetwatchHTTP

@main
struct BenchHTTP: Client {
  private let session: HTTPSessionManager

  private let request: HTTPRequest

  init(_ url: String, atOnce: Int) throws {
    guard let url = URL(string: url) else { throw BenchFailure("not a URL: \(url)") }
    request = try HTTPRequest(.get, to: url)
    var configuration = HTTPSessionConfiguration()
    configuration.connectionsPerHost = atOnce
    session = try HTTPSessionManager(configuration: configuration)
  }

  static func main() async { await run() }

  func get() async throws -> (status: Int, length: Int) {
    let reply = try await session.data(for: request)
    return (reply.response.status.code, reply.value.count)
  }

  func download(to path: String) async throws {
    _ = try await session.download(request, to: .file(URL(filePath: path), replacesExisting: true))
  }

  func close() async throws {
    session.invalidate()
    await session.waitUntilInvalidated()
  }
}
