import Foundation
import NetwatchTestSupport

@testable import NetwatchHTTP

/// A reader of a request's body. It reads as a transfer does: into buffers of a given size, and again after the body
/// has signalled new bytes.
final class BodyReader {
  private let source: any BodySource
  private var wakes: AsyncStream<Void>.Iterator
  private(set) var pauses = 0

  init(_ body: HTTPBody) throws(HTTPError) {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    wakes = stream.makeAsyncIterator()
    source = try body.open { continuation.yield() }
  }

  /// Reads the next bytes, and waits if the body is paused. The result is empty at the end of the body.
  ///
  /// - Parameter roomSize: The size of the buffer, in bytes.
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

  /// Whether the body has no bytes at this moment.
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
  /// Reads the whole body. Throws if the number of bytes is not the length that the body states.
  func bytes() async throws -> [UInt8] {
    let bytes = try await BodyReader(self).rest()
    if let length, length != Int64(bytes.count) { throw HTTPError(.other, "\(bytes.count) bytes instead of \(length)") }
    return bytes
  }

  func text() async throws -> String { String(decoding: try await bytes(), as: UTF8.self) }
}

extension TemporaryFolder {
  /// Makes a sparse file of zeros that takes no space on the disk.
  ///
  /// - Parameter size: The size of the file, in bytes.
  func makeSparse(_ name: String, size: UInt64) throws -> URL {
    let file = try write(Data(), to: name)
    let handle = try FileHandle(forWritingTo: file)
    try handle.truncate(atOffset: size)
    try handle.close()
    return file
  }
}
