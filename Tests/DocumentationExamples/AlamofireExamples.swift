import Foundation
import HTTPTypes
import Netwatch
import NetwatchHTTP
import NetwatchHTTPFoundation

/// The code of the article for readers who know Alamofire.
struct AlamofireExamples {
  let api: HTTPSessionManager

  func verbs() async throws {
    let user: User = try await api.get("users/1")
    let made: User = try await api.post("users", body: .json(user))
    print(made.name)
  }

  func whole(_ filter: User) async throws {
    let call = HTTPCall(.get, "users", parameters: try .encoding(filter), headerFields: [.acceptLanguage: "de"])
    let reply = try await api.send(call, as: [User].self)
    print(reply.value.count, reply.response.status, reply.metrics.total)
  }

  func photo(_ photo: URL) async throws {
    var form = MultipartFormData()
    try form.append(file: photo, name: "photo")
    let options = HTTPTaskOptions.with { $0.onProgress = { print($0.sent, "of", $0.totalToSend ?? 0) } }
    let user: User = try await api.post("users/1/photo", body: .multipart(form), options: options)
    print(user.name)
  }

  func session(_ url: URL, _ monitor: NetworkMonitor, _ login: HTTPSessionManager) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.interceptors = [
      BearerTokenInterceptor { _ in BearerToken(try await login.post("token", as: String.self)) },
      RetryInterceptor(),
    ]
    configuration.taskOptions.retriesWhenReachable = true
    return try HTTPSessionManager(baseURL: url, configuration: configuration, path: monitor)
  }

  func trust(_ url: URL) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.hostPolicies["api.example.org"] = try SecurityPolicy(
      .publicKey,
      keyPins: [
        PublicKeyPin("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
        PublicKeyPin("sha256/BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="),
      ])
    configuration.refusesHostsWithoutPolicy = true
    return try HTTPSessionManager(baseURL: url, configuration: configuration)
  }

  func failure() async throws {
    do {
      let user: User = try await api.get("users/1")
      print(user.name)
    } catch {
      print(error.kind, error.response?.status.code ?? 0, error.problem?.title ?? "")
    }
  }

  func script() throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.transport = ScriptedTransport { request, _ in
      request.path == "/users/1" ? try .json(User(name: "Ali")) : HTTPTransportAnswer(.notFound)
    }
    return try HTTPSessionManager(baseURL: URL(string: "https://api.example.org"), configuration: configuration)
  }
}
