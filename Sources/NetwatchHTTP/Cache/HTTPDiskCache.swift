import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop
import Synchronization

/// Answers of HTTP servers, kept in a folder for as long as RFC 9111 allows: the private cache of one user.
///
/// Several sessions and several processes can use one folder. A process that is killed, a full disk and a damaged file cost
/// the answers that they concern, and nothing else: an answer is used only if it is whole. The answers are of the user whose
/// credentials the requests carry, so use one folder for each user, or call ``removeAll()`` when the user changes.
///
/// If the answers of a URL depend on fields of the request (`Vary`), up to four of them are kept.
///
/// From any thread; no call waits for the disk, which is the work of a thread of the cache's own.
public final class HTTPDiskCache: Sendable {
  /// The folder. Its files are readable for their user alone.
  public let folder: URL
  /// The size limit in bytes; a file counts in blocks of 4 KiB. If the answers take more, those that were not used for the
  /// longest are removed. An answer that would take more than half is not stored.
  public let capacity: Int64
  private let handle: LoopHandle
  private let confined: LoopConfined<CacheFolder>
  private let lastID = Atomic<UInt64>(0)

  /// Opens a cache, and makes its folder if there is none.
  ///
  /// - Parameters:
  ///   - folder: The folder. Other files in it are left alone.
  ///   - capacity: The size limit in bytes. Default: 256 MiB.
  /// - Throws: `fileFailed` if there can be no such folder, or if others can write into it.
  public init(folder: URL, capacity: Int64 = 256 * 1_024 * 1_024) throws(HTTPError) {
    guard folder.isFileURL else { throw HTTPError(.fileFailed, "use the folder \(folder)", message: "not a file URL") }
    self.folder = folder
    self.capacity = capacity
    do {
      let path = folder.path(percentEncoded: false)
      (handle, confined) = try EventLoop.startInBackground(name: "netwatch-cache") { loop in
        (loop.handle, LoopConfined(try CacheFolder(path, capacity: capacity), on: loop))
      }
    } catch let error as HTTPError {
      throw error
    } catch {
      throw HTTPError(.other, "start cache", underlying: error)
    }
    // The folder may be large, and an earlier limit may have been larger.
    run { $0.prune() }
  }

  deinit { handle.submit { $0.stop() } }

  /// Removes all answers.
  public func removeAll() async { await call { $0.removeAll(since: 0) } }

  /// Removes the answers that have come at a time or later.
  public func removeAll(since date: Date) async {
    let time = Int64(max(0, min(date.timeIntervalSince1970, Double(StoredAnswer.mostSeconds))))
    await call { $0.removeAll(since: time) }
  }

  /// Removes the answers for the URL of a request, whatever fields of the request they depend on.
  public func remove(for request: HTTPRequest) async {
    guard let url = request.urlText else { return }
    await call { $0.remove(url) }
  }

  /// What all answers take, in bytes, with those that other processes have stored.
  public var currentSize: Int64 { get async { await call { $0.size() } ?? 0 } }

  // MARK: For a session

  /// Calls `body` on the cache's thread with the answer of a URL that is wanted; nil if there is none.
  func find(
    _ url: String, where isWanted: @escaping @Sendable (StoredAnswer) -> Bool = { _ in true },
    _ body: @escaping @Sendable (CachedAnswer?) -> Void
  ) {
    let found = OneShot<CachedAnswer?>(otherwise: nil, body)
    run { found.fulfill($0.find(url, where: isWanted)) }
  }

  /// Begins to store an answer.
  func store(_ answer: StoredAnswer) -> CacheWriter { CacheWriter(answer, nextID(), in: self) }

  /// Gives an answer the head that a server's 304 has made.
  func replaceHead(of cached: CachedAnswer, by answer: StoredAnswer) {
    run { [id = nextID()] in $0.replaceHead(of: cached, by: answer, id) }
  }

  /// Removes answers that are not true any more.
  func remove(_ urls: [String]) { run { folder in for url in urls { folder.remove(url) } } }

  private func nextID() -> UInt64 { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Does something on the cache's thread, in order.
  func run(_ body: @escaping @Sendable (CacheFolder) -> Void) {
    handle.submit { [confined] loop in if let folder = confined.value(on: loop) { body(folder) } }
  }

  @discardableResult
  private func call<Value: Sendable>(_ body: @escaping @Sendable (CacheFolder) -> Value) async -> Value? {
    await withCheckedContinuation { continuation in
      let answer = OneShot<Value?>(otherwise: nil) { continuation.resume(returning: $0) }
      run { answer.fulfill(body($0)) }
    }
  }
}
