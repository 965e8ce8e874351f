import Netwatch
import NetwatchEventLoop

/// Stores the body of an answer while it arrives. Can be used from any thread; no call blocks on the disk.
///
/// Nothing is stored before ``finish()``. If the disk stays slower than the network for a long time, the answer is not stored.
final class CacheWriter: Sendable {
  /// The most bytes that may wait for the disk.
  private static let mostPending = 8 * 1_024 * 1_024

  private let id: UInt64
  private let cache: HTTPDiskCache
  private let state = Lock((pending: 0, isOver: false))

  init(_ answer: StoredAnswer, _ id: UInt64, in cache: HTTPDiskCache) {
    self.id = id
    self.cache = cache
    cache.run { [id] folder in folder.begin(id, answer) }
  }

  deinit { cancel() }

  func write(_ bytes: UnsafeRawBufferPointer) {
    let count = bytes.count
    let isTaken = state.withLock { state in
      guard !state.isOver, state.pending + count <= Self.mostPending else { return false }
      state.pending += count
      return true
    }
    guard isTaken else { return cancel() }
    let bytes = unsafe [UInt8](bytes)
    cache.run { [id, weak self] folder in
      folder.append(bytes, to: id)
      self?.state.withLock { $0.pending -= bytes.count }
    }
  }

  /// Stores the answer, when the body is complete.
  func finish() { end { [id] folder in folder.end(id) } }

  /// Ends without storing anything.
  func cancel() { end { [id] folder in folder.cancel(id) } }

  private func end(_ job: @escaping @Sendable (CacheFolder) -> Void) {
    let isFirst = state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
    if isFirst { cache.run(job) }
  }
}
