import FoundationEssentials
import Glibc

/// What a body has for the room that it was offered.
package enum BodySupply {
  /// None: the body has ended.
  case bytes(Int)
  case paused
  case failed
}

/// A request's body on its way out. Belongs to the loop.
package protocol BodySource: AnyObject {
  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply
  /// Whether ``rewind()`` may succeed.
  var canRewind: Bool { get }
  /// Begins anew.
  /// - Returns: false where what has been sent is gone.
  func rewind() -> Bool
  /// Why ``supply(_:)`` has failed.
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

/// A body that is a file, read as it is sent.
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
