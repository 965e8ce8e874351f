import Foundation
import HTTPTypes
import NetwatchHTTP

/// The code of the article on caching.
struct HTTPCachingExamples {
  struct News: Decodable, Sendable { var titles: [String] }

  func session(_ url: URL, _ folder: URL) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.cache = try HTTPDiskCache(folder: folder, capacity: 100 * 1_024 * 1_024)
    return try HTTPSessionManager(baseURL: url, configuration: configuration)
  }

  func policy(_ api: HTTPSessionManager) async throws -> [String] {
    let news: News = try await api.get("news", options: .with { $0.cachePolicy = .prefersCache })
    return news.titles
  }

  func choose(_ configuration: inout HTTPSessionConfiguration) {
    configuration.taskOptions.onCaching = { request, response in
      guard request.path?.hasPrefix("/reports/") != true else { return nil }
      var response = response
      if response.headerFields[.cacheControl] == nil { response.headerFields[.cacheControl] = "max-age=60" }
      return response
    }
  }

  func forget(_ cache: HTTPDiskCache) async {
    await cache.removeAll()
  }
}
