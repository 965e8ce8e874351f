import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop
import Synchronization

/// A private cache of HTTP responses for one user, stored in a folder for as long as RFC 9111 allows.
///
/// Several sessions and several processes can use one folder. A killed process, a full disk or a damaged file only affects the
/// responses that it concerns: a response is used only if it is complete. The responses belong to the user whose credentials
/// the requests carry. Use one folder for each user, or call ``removeAll()`` when the user changes.
///
/// If the responses for a URL depend on fields of the request (`Vary`), up to four of them are kept.
///
/// You can call the methods from any thread. No call blocks on the disk, because the cache has its own thread for that.
public final class HTTPDiskCache: Sendable {
  /// The URL of the folder. Only the user who has made the cache can read the files.
  public let folder: URL
  /// The size limit in bytes. A file counts in blocks of 4 KiB. If the limit is exceeded, the least recently used responses are
  /// removed. A response that needs more than half of the limit is not stored.
  public let capacity: Int64
  private let handle: LoopHandle
  private let confined: LoopBound<CacheFolder>
  private let lastID = Atomic<UInt64>(0)
  private let removals = Lock(CacheRemovals())

  /// Opens a cache, and creates its folder if there is none.
  ///
  /// - Parameters:
  ///   - folder: The URL of the folder. Other files in it are left alone.
  ///   - capacity: The size limit in bytes. Default: 256 MiB.
  /// - Throws: `fileFailed` if the folder cannot be created or opened, belongs to another user, or can be written by others.
  public init(folder: URL, capacity: Int64 = 256 * 1_024 * 1_024) throws(HTTPError) {
    guard folder.isFileURL else { throw HTTPError(.fileFailed, "use the folder \(folder)", message: "not a file URL") }
    self.folder = folder
    self.capacity = capacity
    do {
      let path = folder.path(percentEncoded: false)
      (handle, confined) = try EventLoop.startInBackground(name: "netwatch-cache") { loop in
        (loop.handle, LoopBound(try CacheFolder(path, capacity: capacity), on: loop))
      }
    } catch let error as HTTPError {
      throw error
    } catch {
      throw HTTPError(.other, "start cache", underlying: error)
    }
    // The folder may be large, and an earlier limit may have been higher.
    run { $0.prune() }
  }

  deinit { handle.submit { $0.stop() } }

  /// Removes all responses, and returns when they are removed.
  ///
  /// If a request is still running when you call this, its response is not stored.
  public func removeAll() async {
    removals.withLock { $0.removeAll() }
    await call { $0.removeAll(since: 0) }
  }

  /// Removes the responses that arrived at a time or later, and returns when they are removed.
  ///
  /// - Parameter date: The earliest time of arrival.
  public func removeAll(since date: Date) async {
    let time = Int64(max(0, min(date.timeIntervalSince1970, Double(StoredAnswer.mostSeconds))))
    removals.withLock { $0.removeAll() }
    await call { $0.removeAll(since: time) }
  }

  /// Removes the responses for the URL of a request, whatever request fields they depend on.
  ///
  /// - Parameter request: The request with the URL.
  public func remove(for request: HTTPRequest) async {
    guard let url = request.urlText else { return }
    removals.withLock { $0.remove([url]) }
    await call { $0.remove(url) }
  }

  /// The size of all responses in bytes, including those of other processes.
  public var currentSize: Int64 { get async { await call { $0.size() } ?? 0 } }

  // MARK: For a session

  /// Calls `body` on the cache's thread with the matching answer of a URL. Nil if there is none.
  func find(
    _ url: String, where isWanted: @escaping @Sendable (StoredAnswer) -> Bool = { _ in true },
    _ body: @escaping @Sendable (CachedAnswer?) -> Void
  ) {
    let found = Promise<CachedAnswer?>(otherwise: nil, body)
    run { found.fulfill($0.find(url, where: isWanted)) }
  }

  /// Begins to store an answer.
  func store(_ answer: StoredAnswer) -> CacheWriter { CacheWriter(answer, nextID(), in: self) }

  /// Replaces the head of an answer by the one that results from a server's 304.
  func replaceHead(of cached: CachedAnswer, by answer: StoredAnswer) {
    run { [id = nextID()] in $0.replaceHead(of: cached, by: answer, id) }
  }

  /// Removes answers that are no longer valid.
  func remove(_ urls: [String]) {
    removals.withLock { $0.remove(urls) }
    run { folder in for url in urls { folder.remove(url) } }
  }

  /// The number of removals so far.
  var removalCount: UInt64 { removals.withLock { $0.count } }

  /// Returns whether a URL was removed since there were that many removals.
  func hasRemoved(_ url: String, since count: UInt64) -> Bool { removals.withLock { $0.hasRemoved(url, since: count) } }

  private func nextID() -> UInt64 { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Runs `body` on the cache's thread, in order.
  func run(_ body: @escaping @Sendable (CacheFolder) -> Void) {
    handle.submit { [confined] loop in if let folder = confined.value(on: loop) { body(folder) } }
  }

  @discardableResult
  private func call<Value: Sendable>(_ body: @escaping @Sendable (CacheFolder) -> Value) async -> Value? {
    await withCheckedContinuation { continuation in
      let answer = Promise<Value?>(otherwise: nil) { continuation.resume(returning: $0) }
      run { answer.fulfill(body($0)) }
    }
  }
}

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
