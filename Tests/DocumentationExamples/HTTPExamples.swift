import Foundation
import HTTPTypes
import Netwatch
import NetwatchHTTP
import NetwatchHTTPFoundation
import NetwatchNetlink

struct User: Codable, Sendable { var name: String }

/// The code of the articles on HTTP.
struct HTTPExamples {
  let api: HTTPSessionManager
  let label: Label

  func session(_ url: URL, _ activity: ActivityIndicator, _ monitor: NetworkMonitor) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.headerFields[.authorization] = "Bearer 123"
    configuration.taskOptions.timeout = .seconds(20)
    configuration.taskOptions.reachabilityTimeout = .seconds(60)
    return try HTTPSessionManager(baseURL: url, configuration: configuration, observer: activity, path: monitor)
  }

  func credentials(_ url: URL, files: URL, password: String) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.headerFields[.authorization] = "Bearer 123"
    configuration.credentialOrigins = [files]
    configuration.taskOptions.onChallenge = { challenge in
      challenge.request.authority == "api.example.org" ? HTTPCredential(user: "ali", password: password) : nil
    }
    return try HTTPSessionManager(baseURL: url, configuration: configuration)
  }

  func callBack() {
    api.get("users/1", as: DecodableResponseSerializer(User.self)) { result in
      switch result {
      case .success(let reply): print(reply.value.name, reply.metrics.total)
      case .failure(let error): print(error.kind, error.response?.status.code ?? 0)
      }
    }
  }

  @MainActor func callBackOnMain(_ request: HTTPRequest) {
    var options = HTTPTaskOptions()
    options.executor = HTTPExecutor(on: MainActor.shared)
    let task = api.dataTask(request, options: options) { [label] result in
      MainActor.assumeIsolated { label.text = (try? result.get().value.count.description) ?? "failed" }
    }
    task.resume()
  }

  func success(_ failure: @escaping @Sendable (HTTPError) -> Void) {
    api.post("users", parameters: ["name": "Ali"], as: JSONResponseSerializer()) { result in
      switch result {
      case .success(let reply): print(reply.response.status, reply.value?["name"] ?? .null)
      case .failure(let error): failure(error)
      }
    }
  }

  func tree() async throws {
    let reply = try await api.send(HTTPCall(.get, "users/1"), as: JSONResponseSerializer())
    print(reply.value?["name"] ?? .null)
  }

  func upload(_ photo: URL) async throws {
    var form = MultipartFormData()
    try form.append(file: photo, name: "photo")
    let user: User = try await api.post("users/1/photo", body: .multipart(form, parameters: ["public": true]))
    print(user.name)
  }

  func read(_ request: HTTPRequest) async throws {
    let stream = try await api.stream(request)
    for try await part in stream.body { print(stream.response.status, part.count) }
  }

  func download(_ request: HTTPRequest, to file: URL) async throws {
    let reply = try await api.download(request, to: .file(file, replacesExisting: true))
    print(reply.value, reply.metrics.bytesReceived)
  }

  func resume(_ request: HTTPRequest, to file: URL) {
    let download = api.resumableDownload(request, to: file) { result in print(result) }
    download.resume()
    download.pause()
    print(download.progress.received, download.resumeData?.offset ?? 0)
    download.resume()
  }

  func many(_ requests: [HTTPRequest]) async {
    let results = await api.batch(requests, limit: 6) { progress in print(progress.finished, "of", progress.total) }
    for case .failure(let error) in results { print(error) }
  }

  func images(_ request: HTTPRequest) async throws -> EncodedImage {
    let images = Downloader(session: api, as: ImageResponseSerializer(), limit: 4, order: .lastInFirstOut)
    return try await images.value(for: request).value
  }

  func pinned(_ pins: URL, _ url: URL) throws -> HTTPSessionManager {
    let policy = try SecurityPolicy(.publicKey, pins: X509Certificate.load(pins))
    return try HTTPSessionManager(baseURL: url, policy: policy)
  }

  func keepCookies(in file: URL) async throws {
    try JSONEncoder().encode(await api.cookies()).write(to: file)
    api.store(try JSONDecoder().decode([SessionCookie].self, from: Data(contentsOf: file)))
  }
}
