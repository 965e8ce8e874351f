import FoundationEssentials
import HTTPTypes

extension HTTPBody {
  /// Writes the whole body to a file, which gets its name when it is complete.
  ///
  /// - Returns: The file as a body of the same type and encoding.
  /// - Throws: `fileFailed`, the error of the body, or `cancelled` if the Swift task is cancelled.
  func write(to url: URL, replacesExisting: Bool) async throws(HTTPError) -> HTTPBody {
    let (news, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    var wakes = news.makeAsyncIterator()
    let file = try NewFile(for: url, replacesExisting: replacesExisting)
    let source = try open { continuation.yield() }
    var room = [UInt8](repeating: 0, count: 64 * 1_024)
    var left = length ?? .max
    while left > 0 {
      guard !Task.isCancelled else { throw HTTPError(.cancelled, "write \(url.lastPathComponent)") }
      let most = Int(min(left, Int64(room.count)))
      let supply = unsafe room.withUnsafeMutableBytes {
        unsafe source.supply(UnsafeMutableRawBufferPointer(rebasing: $0[..<most]))
      }
      switch supply {
      case .paused: _ = await wakes.next()
      case .failed: throw source.failure ?? HTTPError(.cannotEncodeRequest, "write \(url.lastPathComponent)")
      case .bytes(0):
        guard length == nil else {
          throw HTTPError(
            .cannotEncodeRequest, "write \(url.lastPathComponent)",
            message: "the body ends \(left) bytes before the length that was declared")
        }
        left = 0
      case .bytes(let count):
        try write(room, count, to: file)
        left -= Int64(count)
      }
    }
    try file.place()
    return try .file(url, contentType: contentType, contentEncoding: contentEncoding)
  }

  private func write(_ room: [UInt8], _ count: Int, to file: NewFile) throws(HTTPError) {
    do {
      try unsafe room.withUnsafeBytes { try unsafe file.write(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    } catch let error as HTTPError {
      throw error
    } catch {
      throw HTTPError(.fileFailed, "write", underlying: error)
    }
  }
}
