import FoundationEssentials
import Netwatch

/// Keeps values in memory, up to a cost. When it is exceeded, those that were not asked for the longest go first.
///
/// From any thread.
public final class AutoPurgingCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let store: Lock<RecencyStore<Key, Value>>

  /// - Parameters:
  ///   - capacity: Default 100 MB. What costs more than that is not kept.
  ///   - preferredAfterPurge: What stays at most when room has to be made. Default 60 MB.
  public init(capacity: Int = 100_000_000, preferredAfterPurge: Int = 60_000_000) {
    store = Lock(RecencyStore(capacity: capacity, preferred: preferredAfterPurge))
  }

  /// Takes the place of what is kept under the key.
  public func insert(_ value: Value, cost: Int, for key: Key) {
    store.withLock { $0.insert(value, cost: cost, for: key) }
  }

  /// Counts as a use.
  public func value(for key: Key) -> Value? { store.withLock { $0.value(for: key) } }

  /// - Returns: whether there was one.
  @discardableResult
  public func remove(_ key: Key) -> Bool { store.withLock { $0.remove(key) } }

  /// Forgets everything.
  public func removeAll() { store.withLock { $0.removeAll() } }

  /// What all of it costs.
  public var usage: Int { store.withLock { $0.usage } }
  /// How many values there are.
  public var count: Int { store.withLock { $0.count } }
}

extension AutoPurgingCache where Value: CacheCost {
  /// Keeps a value, with the cost that the value itself reports. Replaces the value that the key had before.
  public func insert(_ value: Value, for key: Key) { insert(value, cost: value.cacheCost, for: key) }
}
