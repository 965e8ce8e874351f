/// A compression that a body can have (RFC 9110, section 8.4.1).
enum ContentCoding: String, CaseIterable {
  case deflate
  case gzip
  case brotli = "br"
  case zstd

  /// The value of `Accept-Encoding`: what can be taken off. Two are by libraries that libcurl may bring along.
  static let accepted = allCases.filter(\.isAvailable).map(\.rawValue).joined(separator: ", ")

  private var isAvailable: Bool {
    switch self {
    case .deflate, .gzip: true
    case .brotli: BrotliDecompressor.isAvailable
    case .zstd: ZstdDecompressor.isAvailable
    }
  }

  /// - Parameter name: in lower case. Nil for one that is not known here.
  init?(_ name: String) {
    guard let coding = Self(rawValue: name == "x-gzip" ? "gzip" : name), coding.isAvailable else { return nil }
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
