/// A compression that a body can have (RFC 9110, section 8.4.1).
enum ContentCoding: String, CaseIterable {
  case deflate
  case gzip
  case brotli = "br"
  case zstd

  /// The value of `Accept-Encoding`: the codings that can be decoded. Two of them need libraries that libcurl may load.
  static let accepted = allCases.filter(\.isAvailable).map(\.rawValue).joined(separator: ", ")

  private var isAvailable: Bool {
    switch self {
    case .deflate, .gzip: true
    case .brotli: BrotliDecompressor.isAvailable
    case .zstd: ZstdDecompressor.isAvailable
    }
  }

  /// - Parameter name: The name in lower case. The result is nil for a coding that is unknown here.
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
