import HTTPTypes

/// What a ``Downloader`` keeps a response under: its method, URL and header fields, but for `Cache-Control` and `Pragma`,
/// which say what caches are good for, and not what is wanted.
public struct CachedResource: Hashable, Sendable {
  private static let ofCaches: Set<String> = ["cache-control", "pragma"]

  private let method: String
  private let url: String
  /// Sorted by name: only fields of the same name have an order.
  private let fields: [String]
  private let identifier: String?

  /// The place of a request's reply, or of something that was made of it.
  ///
  /// - Parameters:
  ///   - request: The request. The fragment of its URL makes no difference.
  ///   - identifier: What tells several values of a request apart, such as an image and the same one in another size. A downloader
  ///     reads and writes only what has none. Default: nil.
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
