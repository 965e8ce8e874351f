import FoundationEssentials
import Netwatch
import Synchronization

/// Keeps a body in memory. Belongs to the loop.
struct MemoryBody {
  /// The most memory that is reserved because of the length that a server announces.
  private static let mostReserved: Int64 = 1_024 * 1_024

  private let memory: BodyMemory
  private var short: [UInt8]?
  private var long = Data()

  init(_ memory: BodyMemory) { self.memory = memory }

  /// - Parameter total: The length that the server has sent. Nil if it has sent none.
  mutating func append(_ bytes: UnsafeRawBufferPointer, of total: Int64?) {
    guard long.isEmpty else { return unsafe long.append(contentsOf: bytes) }
    let count = (short?.count ?? 0) + bytes.count
    if max(count, Int(clamping: total ?? 0)) <= BodyMemory.mostBytes {
      var kept = short.take() ?? memory.take()
      unsafe kept.append(contentsOf: bytes)
      short = kept
      return
    }
    long.reserveCapacity(max(count, Int(min(total ?? 0, Self.mostReserved))))
    if let kept = short.take() {
      long.append(contentsOf: kept)
      memory.give(kept)
    }
    unsafe long.append(contentsOf: bytes)
  }

  mutating func takeAll() -> ReceivedBody {
    defer {
      short = nil
      long = Data()
    }
    return if let short { .short(ShortBody(short, memory)) } else { .data(long) }
  }
}

/// A body that goes to another thread. When it is released, its memory goes back to the session.
final class ShortBody: Sendable {
  let bytes: [UInt8]
  private let memory: BodyMemory

  init(_ bytes: [UInt8], _ memory: BodyMemory) {
    self.bytes = bytes
    self.memory = memory
  }

  deinit { memory.give(bytes) }
}

/// Memory of a session for short bodies, used repeatedly.
///
/// glibc's allocator returns memory to the thread that allocated it, under that thread's lock. If another thread frees a
/// kilobyte, both wait.
final class BodyMemory: Sendable {
  static let mostBytes = 16 * 1_024
  private static let mostKept = 64

  private let kept = Lock<[[UInt8]]>([])

  func take() -> [UInt8] {
    var bytes = kept.withLock { $0.popLast() } ?? []
    bytes.removeAll(keepingCapacity: true)
    return bytes
  }

  func give(_ bytes: [UInt8]) { kept.withLock { if $0.count < Self.mostKept { $0.append(bytes) } } }
}
