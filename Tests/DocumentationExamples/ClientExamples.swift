import Foundation
import HTTPTypes
import Netwatch
import NetwatchHTTP

/// The code of the article on errors, and of the articles for readers who know URLSession or AsyncHTTPClient.
struct ClientExamples {
  let api: HTTPSessionManager
  let show: @Sendable (any Sendable) -> Void
  let showOffline: @Sendable () -> Void
  let showMissing: @Sendable () -> Void

  func errors() async {
    do {
      let user: User = try await api.get("users/1")
      show(user)
    } catch {
      switch error.kind {
      case .notReachable, .pathLost, .notResolved: showOffline()
      case .badServerResponse where error.response?.status == .notFound: showMissing()
      case .cancelled: break
      default: show(error)
      }
    }
  }

  func body(_ error: HTTPError) {
    if let problem = error.problem {
      print(problem.title ?? "", problem.detail ?? "")
    } else if let body = error.body {
      print(error.response?.status.code ?? 0, String(decoding: body, as: UTF8.self))
    }
  }

  func certificate(_ error: HTTPError) {
    if let failure = error.tlsFailure, failure.reason == .certificateExpired {
      print(failure.host, failure.validUntil?.description ?? "")
    }
  }

  func data() async throws {
    let reply = try await api.data(for: URL(string: "https://api.example.org/users/1")!)
    print(reply.value.count, reply.response.status.code, reply.metrics.total)
  }

  func delegates(_ url: URL, _ password: String, _ queue: DispatchQueue) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.taskOptions.onRedirect = { redirect in redirect.next.scheme == "https" ? redirect.next : nil }
    configuration.taskOptions.onChallenge = { _ in HTTPCredential(user: "ali", password: password) }
    configuration.taskOptions.executor = HTTPExecutor { queue.async(execute: $0) }
    return try HTTPSessionManager(baseURL: url, configuration: configuration)
  }

  func stream() async throws {
    let stream = try await api.stream("events", options: .with { $0.totalTimeout = .seconds(30) })
    for try await part in stream.body { print(stream.response.status, part.count) }
  }
}
