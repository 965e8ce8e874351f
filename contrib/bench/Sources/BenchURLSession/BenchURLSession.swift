import BenchSupport
import Foundation
import FoundationNetworking

@main
struct BenchURLSession: Client {
  private let session: URLSession

  private let url: URL

  init(_ url: String, atOnce: Int) throws {
    guard let url = URL(string: url) else { throw BenchFailure("not a URL: \(url)") }
    self.url = url
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = atOnce
    session = URLSession(configuration: configuration)
  }

  func get() async throws -> (status: Int, length: Int) {
    let (data, response) = try await session.data(from: url)
    return ((response as? HTTPURLResponse)?.statusCode ?? 0, data.count)
  }

  func download(to path: String) async throws {
    let (file, _) = try await session.download(from: url)
    try FileManager.default.moveItem(at: file, to: URL(filePath: path))
  }

  func close() async throws { session.invalidateAndCancel() }
}
