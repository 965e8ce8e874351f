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

/// Takes one coding off, piece by piece.
protocol Decompressor: AnyObject {
  /// What is returned as neither taken nor filled needs more input.
  ///
  /// - Returns: How much of `input` was used, and how much of `room` was filled.
  /// - Throws: `cannotDecodeContentData` for bytes that are not of the coding, also behind its end.
  func decode(
    _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) throws(HTTPError) -> (taken: Int, filled: Int)

  /// The end has come, and nothing of a further part.
  var isComplete: Bool { get }
}

/// The codings of a response's body, each in the order in which the server has applied them.
struct BodyCodings {
  /// Nil if there is one that is not known here: then they are left on.
  private(set) var content: [ContentCoding]? = []
  /// Without `chunked`. Nil if there is one that is not known here: then libcurl fails the response.
  private(set) var transfer: [ContentCoding]? = []

  /// Whether libcurl is to leave the body as it is.
  var bypassLibcurl: Bool {
    guard let transfer else { return false }
    return !transfer.isEmpty || content.map { !$0.isEmpty } ?? true
  }

  mutating func add(contentEncoding value: String) {
    for name in Self.names(value) where name != "identity" && name != "none" { Self.add(name, to: &content) }
  }

  mutating func add(transferEncoding value: String) {
    for name in Self.names(value) where name != "identity" && name != "chunked" { Self.add(name, to: &transfer) }
  }

  private static func names(_ value: String) -> [String] {
    value.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
  }

  private static func add(_ name: String, to codings: inout [ContentCoding]?) {
    if let coding = ContentCoding(name) {
      codings?.append(coding)
    } else {
      codings = nil
    }
  }
}

extension HTTPError {
  init(coding: String, _ message: String) {
    self.init(.cannotDecodeContentData, "decompress \(coding)", message: message)
  }
}
