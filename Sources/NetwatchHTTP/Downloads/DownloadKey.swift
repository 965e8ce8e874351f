import HTTPTypes

/// What makes two downloads the same: method, URL, header fields, policy.
struct DownloadKey: Hashable, Sendable {
  let resource: CachedResource
  let policy: DownloadPolicy
  /// The first one that was asked for.
  let request: HTTPRequest

  init(_ request: HTTPRequest, _ policy: DownloadPolicy) {
    resource = CachedResource(request)
    self.policy = policy
    self.request = request
  }

  static func == (left: DownloadKey, right: DownloadKey) -> Bool {
    left.policy == right.policy && left.resource == right.resource
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(resource)
    hasher.combine(policy)
  }
}

/// What a ``Downloader`` keeps a response under: its method, URL and header fields.
public struct CachedResource: Hashable, Sendable {
  private let method: String
  private let url: String
  /// Sorted by name: only fields of the same name have an order.
  private let fields: [String]

  /// Without the URL's fragment.
  public init(_ request: HTTPRequest) {
    method = request.method.rawValue
    url = request.urlText ?? ""
    var values: [String: [String]] = [:]
    for field in request.headerFields { values[field.name.canonicalName, default: []].append(field.value) }
    fields = values.sorted { $0.key < $1.key }.flatMap { name, values in values.map { "\(name): \($0)" } }
  }
}

/// Whether a ``Downloader`` may answer with what it has kept.
public enum DownloadPolicy: Hashable, Sendable {
  /// As HTTP says: while it is fresh; then the server is asked whether it still may be used.
  case standard
  /// The server is asked for all of it.
  case ignoresCache
  /// However old it is.
  case prefersCache
}

/// A response that a ``Downloader`` has kept.
public struct CachedReply<Value: Sendable>: Sendable {
  /// As it came, with the newest head.
  public let reply: HTTPReply<Value>
  let freshness: CacheFreshness
}

extension CachedReply: CacheCost where Value: CacheCost {
  /// Its value's.
  public var cacheCost: Int { reply.value.cacheCost }
}
