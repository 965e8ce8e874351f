import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// A cache for what a ``Downloader`` has downloaded: an ``AutoPurgingCache``, or your own type.
///
/// The functions are called from any thread, and the download waits until they return. A cache may forget anything at any time,
/// and does not have to keep what is inserted.
public protocol DownloadCache<Kept>: Sendable {
  /// The type of the cached values: the ``CachedReply`` of a downloader's value.
  associatedtype Kept: Sendable

  /// Returns the value that is kept for a resource. Nil if there is none.
  func value(for resource: CachedResource) -> Kept?
  /// Keeps a value in place of the old value of the resource, or decides not to keep it.
  func insert(_ value: Kept, for resource: CachedResource)
  /// Removes the value that is kept for a resource.
  ///
  /// - Returns: Whether there was a value.
  @discardableResult
  func remove(_ resource: CachedResource) -> Bool
}

extension AutoPurgingCache: DownloadCache where Key == CachedResource, Value: CacheCost {
  /// The type of the cached values.
  public typealias Kept = Value
}

/// A cache that keeps values in memory, up to a limit on their total cost. When the limit is exceeded, the values that were
/// used least recently are removed first.
///
/// All members can be used from any thread.
public final class AutoPurgingCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let store: Lock<RecencyStore<Key, Value>>

  /// Creates an empty cache.
  ///
  /// - Parameters:
  ///   - capacity: The most that all values may cost together. Default: 100,000,000 (100 MB). A value that costs more is not
  ///     kept.
  ///   - preferredAfterPurge: The most that the values may cost together after some were removed to make room. Default:
  ///     60,000,000 (60 MB).
  public init(capacity: Int = 100_000_000, preferredAfterPurge: Int = 60_000_000) {
    store = Lock(RecencyStore(capacity: capacity, preferred: preferredAfterPurge))
  }

  /// Inserts a value, which replaces the old value of the key. If the value costs more than the capacity, the key has no value
  /// afterwards.
  public func insert(_ value: Value, cost: Int, for key: Key) {
    store.withLock { $0.insert(value, cost: cost, for: key) }
  }

  /// Returns the value of a key, and marks it as used. Nil if there is none.
  public func value(for key: Key) -> Value? { store.withLock { $0.value(for: key) } }

  /// Removes the value of a key.
  ///
  /// - Returns: Whether there was a value.
  @discardableResult
  public func remove(_ key: Key) -> Bool { store.withLock { $0.remove(key) } }

  /// Removes all values.
  public func removeAll() { store.withLock { $0.removeAll() } }

  /// The total cost of all values.
  public var usage: Int { store.withLock { $0.usage } }
  /// The number of values.
  public var count: Int { store.withLock { $0.count } }
}

extension AutoPurgingCache where Value: CacheCost {
  /// Inserts a value that knows its own ``CacheCost/cacheCost``. It replaces the old value of the key.
  public func insert(_ value: Value, for key: Key) { insert(value, cost: value.cacheCost, for: key) }
}

/// The key under which a ``Downloader`` keeps a response: the method, the URL and the header fields of the request.
/// `Cache-Control` and `Pragma` are left out, because they control caches and do not describe what is requested.
public struct CachedResource: Hashable, Sendable {
  private static let ofCaches: Set<String> = ["cache-control", "pragma"]

  private let method: String
  private let url: String
  /// The header fields, sorted by name. Only fields with the same name have an order.
  private let fields: [String]
  private let identifier: String?

  /// Creates the key of the response to a request, or of something that was made from that response.
  ///
  /// - Parameters:
  ///   - request: The request. The fragment of its URL makes no difference.
  ///   - identifier: A text that distinguishes several values of one request, such as an image in several sizes. A downloader
  ///     only uses keys without one. Default: nil.
  public init(_ request: HTTPRequest, identifier: String? = nil) {
    self.identifier = identifier
    method = request.method.rawValue
    url = request.urlText ?? ""
    var values: [String: [String]] = [:]
    for field in request.headerFields where !Self.ofCaches.contains(field.name.canonicalName) {
      values[field.name.canonicalName, default: []].append(field.value)
    }
    fields = values.sorted { $0.key < $1.key }.flatMap { name, values in values.map { "\(name): \($0)" } }
  }
}

/// A response that a ``Downloader`` has kept.
public struct CachedReply<Value: Sendable>: Sendable {
  /// The response and its value. After a validation, it has the newest head.
  public let reply: HTTPReply<Value>
  let freshness: CacheFreshness
  /// The only owner that may get the response. Nil if all callers may.
  let owner: CacheOwner?
}

extension CachedReply {
  /// Creates a cached response from a value of your own, for any session and credential.
  ///
  /// - Parameters:
  ///   - value: The value that a downloader returns instead of asking the server.
  ///   - request: The request that the value answers.
  ///   - lifetime: The time for which the value is used before the server is asked. It also passes while the machine sleeps.
  ///     Default: a hundred years.
  public init(_ value: Value, to request: HTTPRequest, lifetime: Duration = .seconds(100 * 365 * 86_400)) {
    reply = HTTPReply(HTTPResponse(status: .ok), value, to: request, HTTPMetrics())
    freshness = CacheFreshness(lifetime: lifetime, from: KernelClock.boot.now)
    owner = nil
  }

  /// Returns a cached response with another value that was made from this one, such as an image in another size. It is as fresh
  /// as this one, and shared with the same sessions and credentials.
  public func with<Other: Sendable>(_ value: Other) -> CachedReply<Other> {
    CachedReply<Other>(reply: reply.with(value), freshness: freshness, owner: owner)
  }
}

extension CachedReply: CacheCost where Value: CacheCost {
  /// The cost of the value, in bytes.
  public var cacheCost: Int { reply.value.cacheCost }
}

/// A value that knows what it costs to keep it in a cache.
public protocol CacheCost: Sendable {
  /// The cost of the value, in bytes.
  var cacheCost: Int { get }
}

extension Data: CacheCost {
  /// The number of bytes.
  public var cacheCost: Int { count }
}

extension EncodedImage: CacheCost {
  /// The size of the decoded image in bytes, four for each pixel, and at least the size of the encoded image.
  public var cacheCost: Int {
    let (pixels, isTooMany) = header.width.multipliedReportingOverflow(by: header.height)
    let (bytes, areTooMany) = pixels.multipliedReportingOverflow(by: 4)
    return isTooMany || areTooMany ? .max : max(bytes, data.count)
  }
}

/// The owner of a cached value: a session, and the credentials of its requests.
struct CacheOwner: Hashable, Sendable {
  private let session: UInt64
  private let credential: HTTPCredential?
  /// A random number, so that the owner equals no other: it is not known what a callback answers to challenges, or what the
  /// interceptors of a downloader add.
  private let callback: UInt64?
  /// Whether the session may send what another session would not: cookies, fields, a client certificate, or what interceptors add.
  private let mayAdd: Bool
  /// Whether a URL may mean another server than in other sessions.
  private let isElsewhere: Bool

  init(_ session: HTTPSessionManager, _ options: HTTPTaskOptions) {
    self.session = session.identity
    credential = options.credential
    callback = options.onChallenge == nil && options.interceptors.isEmpty ? nil : .random(in: 0...UInt64.max)
    let settings = session.configuration
    mayAdd =
      settings.sendsCookies || !settings.interceptors.isEmpty || !settings.headerFields.isEmpty
      || !settings.clientCertificates.isEmpty
    isElsewhere = settings.transport != nil || settings.unixSocketPath != nil || !settings.addressOverrides.isEmpty
  }

  /// Returns whether only this owner may get a response. That is so if the response is private, or if it may depend on
  /// credentials or fields that another owner would not send.
  ///
  /// - Parameter request: The request, without the changes of interceptors.
  func isAlone(with response: HTTPResponse, to request: HTTPRequest) -> Bool {
    let control = CacheControl(response.headerFields[.cacheControl] ?? "")
    if isElsewhere || control.isPrivate || response.headerFields.contains(.vary) { return true }
    if control.isPublic { return false }
    return credential != nil || callback != nil || mayAdd
      || CredentialScope.fields.contains { request.headerFields.contains($0) }
  }
}

/// Values with a cost, of which the most recently used are kept. Pure. Each operation but the purge takes constant time.
struct RecencyStore<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A value with its neighbours in the order of use.
  private struct Slot: Sendable {
    let key: Key
    let value: Value
    let cost: Int
    var older: Int?
    var newer: Int?
  }

  let capacity: Int
  /// The most that the values may cost together after a purge.
  let preferred: Int
  private(set) var usage = 0
  private var slots: [Slot?] = []
  private var free: [Int] = []
  private var places: [Key: Int] = [:]
  private var oldest: Int?
  private var newest: Int?

  init(capacity: Int, preferred: Int) {
    self.capacity = max(capacity, 0)
    self.preferred = min(max(preferred, 0), self.capacity)
  }

  var count: Int { places.count }

  /// Inserts a value. A value that costs more than the capacity is not kept, and only removes the old value of its key.
  mutating func insert(_ value: Value, cost: Int, for key: Key) {
    let cost = max(cost, 0)
    remove(key)
    guard cost <= capacity else { return }
    // Written as a difference, because the sum could overflow.
    let isOver = cost > capacity - usage
    if isOver { purge(leaving: max(preferred - cost, 0)) }
    place(Slot(key: key, value: value, cost: cost))
  }

  /// Returns the value of a key, and marks it as used.
  mutating func value(for key: Key) -> Value? {
    guard let index = places[key], let slot = slots[index] else { return nil }
    if index != newest {
      unlink(index)
      link(index)
    }
    return slot.value
  }

  @discardableResult
  mutating func remove(_ key: Key) -> Bool {
    guard let index = places.removeValue(forKey: key) else { return false }
    unlink(index)
    usage -= slots[index]?.cost ?? 0
    slots[index] = nil
    free.append(index)
    return true
  }

  mutating func removeAll() { self = RecencyStore(capacity: capacity, preferred: preferred) }

  private mutating func purge(leaving rest: Int) {
    while usage > rest, let index = oldest, let slot = slots[index] { remove(slot.key) }
  }

  // MARK: The list

  private mutating func place(_ slot: Slot) {
    let index = free.popLast() ?? slots.count
    if index == slots.count { slots.append(slot) } else { slots[index] = slot }
    places[slot.key] = index
    usage += slot.cost
    link(index)
  }

  private mutating func link(_ index: Int) {
    slots[index]?.older = newest
    slots[index]?.newer = nil
    if let newest { slots[newest]?.newer = index } else { oldest = index }
    newest = index
  }

  private mutating func unlink(_ index: Int) {
    let (older, newer) = (slots[index]?.older, slots[index]?.newer)
    if let older { slots[older]?.newer = newer } else { oldest = newer }
    if let newer { slots[newer]?.older = older } else { newest = older }
  }
}
