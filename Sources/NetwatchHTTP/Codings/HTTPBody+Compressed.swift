import FoundationEssentials

extension HTTPBody {
  /// The largest body that is compressed at once. A larger one would delay the caller.
  private static let mostAtOnce = 64 * 1_024

  /// Returns the body compressed with gzip. The request gets the matching `Content-Encoding`.
  ///
  /// The body is compressed while it is sent, and is never in memory as a whole. Each part that a sequence yields is sent
  /// before the next one is awaited. The compressed length is not known before the end, so the body is sent in chunks and
  /// cannot be a part of a form. ``HTTPProgress`` counts the compressed bytes. Only a body in memory of at most 64 KiB is
  /// compressed at once, and keeps a length.
  ///
  /// An empty body, or one that has a content encoding, is returned unchanged. A request with its own `Content-Encoding` fails
  /// with `cannotEncodeRequest`. Compress only if you know that the server decompresses requests: few servers do so by default.
  public func compressed() -> HTTPBody {
    guard !isEmpty, contentEncoding == nil else { return self }
    let coding = ContentCoding.gzip.rawValue
    if case .memory(let data) = place, data.count <= Self.mostAtOnce, let small = try? Self.deflated(data) {
      return .data(small, contentType: contentType, contentEncoding: coding)
    }
    let (open, length) = (open, length)
    return HTTPBody(length: nil, contentType: contentType, contentEncoding: coding, at: .elsewhere) {
      wake throws(HTTPError) in
      try DeflatingSource(try open(wake), length: length)
    }
  }

  private static func deflated(_ data: Data) throws(HTTPError) -> Data {
    let source = try DeflatingSource(DataSource(data), length: Int64(data.count))
    var compressed = Data()
    var room = [UInt8](repeating: 0, count: 16 * 1_024)
    while true {
      switch unsafe room.withUnsafeMutableBytes({ unsafe source.supply($0) }) {
      case .bytes(0): return compressed
      case .bytes(let count): compressed.append(contentsOf: room[..<count])
      case .paused, .failed: throw source.failure ?? HTTPError(.cannotEncodeRequest, "compress the body")
      }
    }
  }
}
