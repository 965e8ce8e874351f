import FoundationEssentials

extension HTTPBody {
  /// A longer one would hold the caller up.
  private static let mostAtOnce = 64 * 1_024

  /// The body in gzip, with the request's `Content-Encoding` set.
  ///
  /// The body is compressed while it is sent, and never is in memory as a whole. What a sequence yields is sent before the next
  /// part is waited for. The compressed length is not known before the end, so the body is sent in chunks, and cannot be a part
  /// of a form; ``HTTPProgress`` counts the compressed bytes. Only a body in memory of at most 64 KiB is compressed at once, and
  /// keeps a length.
  ///
  /// A body that is empty or compressed already stays as it is. A request that has a `Content-Encoding` of its own fails with
  /// `cannotEncodeRequest`. Compress only what the server is known to decompress: few servers do so by default.
  public func compressed() -> HTTPBody {
    guard length != 0, contentEncoding == nil else { return self }
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
