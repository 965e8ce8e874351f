import Foundation
import HTTPTypes
import Netwatch
import NetwatchHTTP
import NetwatchHTTPFoundation

/// The code of the articles on authentication, retries, tests and events.
struct HTTPSessionExamples {
  struct Login: Decodable, Sendable { var token: String }
  struct Show { var update: (Double) -> Void }

  func tokens(_ url: URL, _ refreshToken: String) throws -> HTTPSessionManager {
    let login = try HTTPSessionManager(baseURL: url)
    var configuration = HTTPSessionConfiguration()
    configuration.interceptors = [
      BearerTokenInterceptor { _ in
        let answer: Login = try await login.post("token", body: .form(["refresh_token": refreshToken]))
        return BearerToken(answer.token)
      }
    ]
    return try HTTPSessionManager(baseURL: url, configuration: configuration)
  }

  func retries(_ url: URL) throws -> HTTPSessionManager {
    var retry = RetryInterceptor()
    retry.limit = 5
    retry.methods.insert(.post)
    var configuration = HTTPSessionConfiguration()
    configuration.interceptors = [retry]
    return try HTTPSessionManager(baseURL: url, configuration: configuration)
  }

  struct Signature: RequestInterceptor {
    let sign: @Sendable (HTTPRequest) -> String

    func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) async throws(HTTPError) -> HTTPRequest {
      var request = request
      if let name = HTTPField.Name("X-Signature") { request.headerFields[name] = sign(request) }
      return request
    }
  }

  func offline(_ api: HTTPSessionManager) async throws -> User {
    let user: User = try await api.get("users/1", options: .with { $0.retriesWhenReachable = true })
    return user
  }

  func test() async throws -> Bool {
    let server = ScriptedTransport { request, body in
      switch (request.method, request.path) {
      case (.get, "/users/1"): try .json(User(name: "Ali"))
      case (.post, "/users"): HTTPTransportAnswer(.created, body: body)
      default: HTTPTransportAnswer(.notFound)
      }
    }
    var configuration = HTTPSessionConfiguration()
    configuration.transport = server
    let api = try HTTPSessionManager(baseURL: URL(string: "https://api.example.org"), configuration: configuration)
    let user: User = try await api.get("users/1")
    return user.name == "Ali" && server.requests.count == 1
  }

  func record(_ file: URL) throws -> HTTPSessionConfiguration {
    var configuration = HTTPSessionConfiguration()
    configuration.transport =
      FileManager.default.fileExists(atPath: file.path)
      ? try RecordedTransport(replaying: file)
      : RecordedTransport(recording: file, by: try HTTPSessionManager())
    return configuration
  }

  func watch(_ api: HTTPSessionManager) async {
    for await event in api.taskEvents() {
      if case .finished(let result, let metrics, let body) = event.kind {
        print(event.task.label ?? "", event.request.path ?? "", result, metrics.total, body.count)
      }
    }
  }

  func follow(_ task: HTTPTask, _ show: Show) async {
    for await progress in task.progressUpdates() { show.update(progress.fraction ?? 0) }
  }

  func followAll(_ photos: [HTTPTask], _ film: HTTPDownload, _ show: Show) async {
    let tree = HTTPProgressTree()
    for photo in photos { tree.add(photo) }
    tree.add(film, weight: 5)
    for await progress in tree.progressUpdates() { show.update(progress.fraction ?? 0) }
  }

  func states(_ task: HTTPTask) async {
    for await state in task.states { print(state) }
  }

  @MainActor func foundation(_ task: HTTPTask, _ whole: Progress) {
    let progress = task.foundationProgress(on: HTTPExecutor(on: MainActor.shared))
    whole.addChild(progress, withPendingUnitCount: 1)
  }

  func options(_ api: HTTPSessionManager, _ user: User) async throws -> User {
    let created: User = try await api.post("users", body: .json(user), options: .with { $0.timeout = .seconds(5) })
    return created
  }

  func serverSentEvents(_ api: HTTPSessionManager) async throws {
    for try await event in api.serverSentEvents(from: "feed") { print(event.type, event.data) }
  }
}
