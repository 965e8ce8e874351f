import FoundationEssentials

extension HTTPBody {
  /// Reads the whole body into memory, for an ``HTTPTransport``. A body made from a sequence can be read once only.
  ///
  /// - Returns: The bytes of the body.
  /// - Throws: The error of reading, such as `fileFailed`; `cancelled` if the Swift task is cancelled.
  public func data() async throws(HTTPError) -> Data {
    let news = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let source = try open { news.continuation.yield() }
    var data = Data()
    var room = [UInt8](repeating: 0, count: 65_536)
    var iterator = news.stream.makeAsyncIterator()
    while !Task.isCancelled {
      switch unsafe room.withUnsafeMutableBytes({ unsafe source.supply($0) }) {
      case .bytes(0): return data
      case .bytes(let count): data += room.prefix(count)
      case .paused: await iterator.next()
      case .failed: throw source.failure ?? HTTPError(.cannotEncodeRequest, "read the body")
      }
    }
    throw HTTPError(.cancelled, "read the body")
  }
}
