import Foundation
import NetwatchTestSupport

@testable import NetwatchHTTP

/// Reads a body as a transfer does: into rooms of a given size, and again whenever it is woken.
final class BodyReader {
  private let source: any BodySource
  private var wakes: AsyncStream<Void>.Iterator
  private(set) var pauses = 0

  init(_ body: HTTPBody) throws(HTTPError) {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    wakes = stream.makeAsyncIterator()
    source = try body.open { continuation.yield() }
  }

  /// The next bytes; none at the end.
  func next(_ roomSize: Int) async throws -> [UInt8] {
    while true {
      var room = [UInt8](repeating: 0xee, count: roomSize)
      switch unsafe room.withUnsafeMutableBytes({ unsafe source.supply($0) }) {
      case .bytes(let count): return Array(room.prefix(count))
      case .paused:
        pauses += 1
        guard await wakes.next() != nil else { throw CancellationError() }
      case .failed: throw source.failure ?? HTTPError(.other, "a body without a reason")
      }
    }
  }

  /// Whether the source has nothing to give now.
  func isPaused(_ roomSize: Int) -> Bool {
    var room = [UInt8](repeating: 0, count: roomSize)
    guard case .paused = unsafe room.withUnsafeMutableBytes({ unsafe source.supply($0) }) else { return false }
    return true
  }

  func rest(_ roomSize: () -> Int = { 1_000 }) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let more = try await next(roomSize())
      if more.isEmpty { return bytes }
      bytes += more
    }
  }

  func rewind() -> Bool { source.rewind() }
}

extension HTTPBody {
  /// All of it, and that it is as long as it says.
  func bytes() async throws -> [UInt8] {
    let bytes = try await BodyReader(self).rest()
    if let length, length != Int64(bytes.count) { throw HTTPError(.other, "\(bytes.count) bytes instead of \(length)") }
    return bytes
  }

  func text() async throws -> String { String(decoding: try await bytes(), as: UTF8.self) }
}

extension TemporaryFolder {
  /// A file of so many zeros that takes no room.
  func makeSparse(_ name: String, size: UInt64) throws -> URL {
    let file = try write(Data(), to: name)
    let handle = try FileHandle(forWritingTo: file)
    try handle.truncate(atOffset: size)
    try handle.close()
    return file
  }
}
