import Synchronization

/// A call that is made once: with the first value that is given, or with another one if it is dropped without a value, such as
/// by a loop or an executor that has ended.
public final class OneShot<Value: Sendable>: Sendable {
  private let body: @Sendable (Value) -> Void
  private let otherwise: Value
  private let isDone = Atomic(false)

  package init(otherwise: Value, _ body: @escaping @Sendable (Value) -> Void) {
    self.otherwise = otherwise
    self.body = body
  }

  deinit { fulfill(otherwise) }

  /// Makes the call, on this thread, unless it has been made.
  public func fulfill(_ value: Value) {
    if !isDone.exchange(true, ordering: .acquiringAndReleasing) { body(value) }
  }
}

extension OneShot<Void> {
  package convenience init(_ body: @escaping @Sendable () -> Void) { self.init(otherwise: ()) { _ in body() } }

  public func fulfill() { fulfill(()) }
}
