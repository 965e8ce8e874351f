import HTTPTypes

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
