import HTTPTypes

/// What makes two downloads the same: method, URL, header fields, policy, and what the request wants of caches.
struct DownloadKey: Hashable, Sendable {
  let resource: CachedResource
  let policy: DownloadPolicy
  private let control: CacheControl
  /// The first one that was asked for.
  let request: HTTPRequest

  init(_ request: HTTPRequest, _ policy: DownloadPolicy) {
    resource = CachedResource(request)
    self.policy = policy
    control = CacheControl(of: request)
    self.request = request
  }

  static func == (left: DownloadKey, right: DownloadKey) -> Bool {
    left.policy == right.policy && left.resource == right.resource && left.control == right.control
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(resource)
    hasher.combine(policy)
  }
}

/// What a ``Downloader`` keeps a response under: its method, URL and header fields, but for `Cache-Control` and `Pragma`,
/// which say what caches are good for, and not what is wanted.
public struct CachedResource: Hashable, Sendable {
  private static let ofCaches: Set<String> = ["cache-control", "pragma"]

  private let method: String
  private let url: String
  /// Sorted by name: only fields of the same name have an order.
  private let fields: [String]

  /// Without the URL's fragment.
  public init(_ request: HTTPRequest) {
    method = request.method.rawValue
    url = request.urlText ?? ""
    var values: [String: [String]] = [:]
    for field in request.headerFields where !Self.ofCaches.contains(field.name.canonicalName) {
      values[field.name.canonicalName, default: []].append(field.value)
    }
    fields = values.sorted { $0.key < $1.key }.flatMap { name, values in values.map { "\(name): \($0)" } }
  }
}

/// Whether a ``Downloader`` may answer with what it has kept. A request that says `no-cache` or `max-age` is obeyed, whatever
/// its policy.
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
  /// Whose it is; nil if anybody may have it.
  let owner: CacheOwner?
}

/// Who asks: a session, and with which credentials.
struct CacheOwner: Hashable, Sendable {
  private let session: UInt64
  private let credential: HTTPCredential?
  /// Nobody else's: what a callback answers to challenges is not known.
  private let callback: UInt64?
  private let handlesCookies: Bool

  init(_ session: HTTPSessionManager, _ options: HTTPTaskOptions) {
    self.session = session.identity
    credential = options.credential
    callback = options.onChallenge == nil ? nil : .random(in: 0...UInt64.max)
    handlesCookies = session.configuration.handlesCookies
  }

  /// Whether nobody else may have a response: it is private, or credentials or fields that another one would not send may
  /// have made it what it is.
  ///
  /// - Parameter request: as it was sent.
  func isAlone(with response: HTTPResponse, to request: HTTPRequest) -> Bool {
    let control = CacheControl(response.headerFields[.cacheControl] ?? "")
    if control.isPrivate || response.headerFields.contains(.vary) { return true }
    if control.isPublic { return false }
    return credential != nil || callback != nil || handlesCookies
      || CredentialScope.fields.contains { request.headerFields.contains($0) }
  }
}

extension CachedReply: CacheCost where Value: CacheCost {
  /// Its value's.
  public var cacheCost: Int { reply.value.cacheCost }
}
