import FoundationEssentials
import Glibc

/// The result of asking a body for its next bytes.
package enum BodySupply {
  /// The number of bytes that were written. 0 at the end of the body.
  case bytes(Int)
  /// There are no bytes yet.
  case paused
  /// The body has failed.
  case failed
}

/// A source of a request's body. Belongs to the loop.
package protocol BodySource: AnyObject {
  /// Writes the next bytes of the body into `room`.
  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply
  /// Whether ``rewind()`` may succeed.
  var canRewind: Bool { get }
  /// Begins the body again.
  ///
  /// - Returns: False if the bytes that were sent cannot be made again.
  func rewind() -> Bool
  /// The error of the last ``supply(_:)``. Nil if it has not failed.
  var failure: HTTPError? { get }
}

/// A body that is in memory.
final class DataSource: BodySource {
  private let data: Data
  private var offset = 0
  var failure: HTTPError? { nil }
  var canRewind: Bool { true }

  init(_ data: Data) { self.data = data }

  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    let count = min(room.count, data.count - offset)
    let start = data.startIndex + offset
    unsafe room.copyBytes(from: data[start..<(start + count)])
    offset += count
    return .bytes(count)
  }

  func rewind() -> Bool {
    offset = 0
    return true
  }
}

/// A body in a file, which is read while it is sent.
final class FileSource: BodySource {
  private let descriptor: OpenFile
  private let path: String
  private(set) var failure: HTTPError?
  var canRewind: Bool { true }

  init(path: String) throws(HTTPError) {
    self.path = path
    descriptor = try OpenFile(reading: path)
  }

  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    let count = unsafe read(descriptor.number, room.baseAddress, room.count)
    guard count >= 0 else {
      failure = HTTPError(file: path, "read")
      return .failed
    }
    return .bytes(count)
  }

  func rewind() -> Bool { lseek(descriptor.number, 0, SEEK_SET) == 0 }
}
