/// A compression that a body can have (RFC 9110, section 8.4.1).
enum ContentCoding: CaseIterable {
  case deflate
  case gzip
  case brotli
  case zstd

  /// The value of `Accept-Encoding`: what can be taken off. Two are by libraries that libcurl may bring along.
  static let accepted = allCases.filter(\.isAvailable).map(\.name).joined(separator: ", ")

  private var isAvailable: Bool {
    switch self {
    case .deflate, .gzip: true
    case .brotli: BrotliDecompressor.isAvailable
    case .zstd: ZstdDecompressor.isAvailable
    }
  }

  var name: String {
    switch self {
    case .deflate: "deflate"
    case .gzip: "gzip"
    case .brotli: "br"
    case .zstd: "zstd"
    }
  }

  /// - Parameter name: in lower case. Nil for one that is not known here.
  init?(_ name: String) {
    let name = name == "x-gzip" ? "gzip" : name
    guard let coding = Self.allCases.first(where: { $0.name == name && $0.isAvailable }) else { return nil }
    self = coding
  }

  func open() throws(HTTPError) -> any Decompressor {
    switch self {
    case .deflate, .gzip: try Inflater(self)
    case .brotli: try BrotliDecompressor()
    case .zstd: try ZstdDecompressor()
    }
  }
}
