import AsyncHTTPClient
import BenchSupport
import NIOCore

@main
struct BenchAsyncHTTPClient: Client {
  private let client: HTTPClient

  private let url: String
  private let request: HTTPClientRequest

  init(_ url: String, atOnce: Int) throws {
    self.url = url
    request = HTTPClientRequest(url: url)
    var configuration = HTTPClient.Configuration.singletonConfiguration
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = atOnce
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  func get() async throws -> (status: Int, length: Int) {
    let response = try await client.execute(request, timeout: .seconds(60))
    let body = try await response.body.collect(upTo: 1 << 20)
    return (Int(response.status.code), body.readableBytes)
  }

  func download(to path: String) async throws {
    let delegate = try FileDownloadDelegate(path: path)
    _ = try await client.execute(request: HTTPClient.Request(url: url), delegate: delegate).get()
  }

  func close() async throws { try await client.shutdown() }
}
