import HTTPTypes

/// The key under which a ``Downloader`` keeps a response: the method, the URL and the header fields of the request.
/// `Cache-Control` and `Pragma` are left out, because they control caches and do not describe what is requested.
public struct CachedResource: Hashable, Sendable {
  private static let ofCaches: Set<String> = ["cache-control", "pragma"]

  private let method: String
  private let url: String
  /// The header fields, sorted by name. Only fields with the same name have an order.
  private let fields: [String]
  private let identifier: String?

  /// Creates the key of the response to a request, or of something that was made from that response.
  ///
  /// - Parameters:
  ///   - request: The request. The fragment of its URL makes no difference.
  ///   - identifier: A text that distinguishes several values of one request, such as an image in several sizes. A downloader
  ///     only uses keys without one. Default: nil.
  public init(_ request: HTTPRequest, identifier: String? = nil) {
    self.identifier = identifier
    method = request.method.rawValue
    url = request.urlText ?? ""
    var values: [String: [String]] = [:]
    for field in request.headerFields where !Self.ofCaches.contains(field.name.canonicalName) {
      values[field.name.canonicalName, default: []].append(field.value)
    }
    fields = values.sorted { $0.key < $1.key }.flatMap { name, values in values.map { "\(name): \($0)" } }
  }
}
