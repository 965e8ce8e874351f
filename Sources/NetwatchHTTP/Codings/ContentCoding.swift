/// A compression that a body can have (RFC 9110, section 8.4.1).
enum ContentCoding: CaseIterable {
  case deflate
  case gzip
  case brotli
  case zstd

  /// The value of `Accept-Encoding`.
  static let accepted = allCases.map(\.name).joined(separator: ", ")

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
    guard let coding = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = coding
  }

  func open() throws(HTTPError) -> any Decompressor {
    switch self {
    case .deflate: try Inflater(.deflate)
    case .gzip: try Inflater(.gzip)
    case .brotli: try BrotliDecompressor()
    case .zstd: try ZstdDecompressor()
    }
  }
}
