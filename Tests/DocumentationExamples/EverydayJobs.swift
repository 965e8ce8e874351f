import Foundation
import HTTPTypes
import Netwatch
import NetwatchHTTP

/// The code of the article on everyday jobs.
struct EverydayJobs {
  let api: HTTPSessionManager

  func get() async throws -> User {
    let user: User = try await api.get("users/1")
    return user
  }

  func post(_ user: User) async throws -> User {
    let made: User = try await api.post("users", body: .json(user))
    return made
  }

  func photo(_ photo: URL, _ show: @escaping @Sendable (HTTPProgress) -> Void) async throws {
    var form = MultipartFormData()
    try form.append(file: photo, name: "photo")
    try await api.send(HTTPCall(.post, "photos", body: .multipart(form)), options: .with { $0.onProgress = show })
  }

  func download(
    _ file: URL, _ finish: @escaping @Sendable (Result<HTTPReply<URL>, HTTPError>) -> Void
  ) -> HTTPDownload {
    let download = api.resumableDownload("files/film.mp4", to: file) { result in finish(result) }
    download.resume()
    return download
  }

  func cancel(_ text: String) {
    let search = Task { try await api.get("search", parameters: ["q": .string(text)], as: [User].self) }
    search.cancel()
  }

  func authenticate(_ configuration: inout HTTPSessionConfiguration, _ login: HTTPSessionManager) {
    configuration.interceptors = [
      BearerTokenInterceptor { _ in BearerToken(try await login.post("token", as: String.self)) }
    ]
  }

  func pin(_ base: URL, _ current: String, _ backup: String) throws -> HTTPSessionManager {
    let policy = try SecurityPolicy(.publicKey, keyPins: [PublicKeyPin(current), PublicKeyPin(backup)])
    let api = try HTTPSessionManager(baseURL: base, policy: policy)
    return api
  }

  func retry() async throws -> User {
    let user: User = try await api.get("users/1", options: .with { $0.retriesWhenReachable = true })
    return user
  }
}
