import FoundationEssentials
import Netwatch

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
