/// A callback that is being called. Ends with ``cancel()``, or when the last reference to it goes.
///
/// It keeps the monitor or indicator alive that it came from.
public final class Subscription: Sendable {
  private let owner: any AnyObject & Sendable
  private let onCancel: @Sendable () -> Void

  package init(of owner: any AnyObject & Sendable, onCancel: @escaping @Sendable () -> Void) {
    self.owner = owner
    self.onCancel = onCancel
  }

  deinit { onCancel() }

  /// Ends it: once this has returned, the callback is not called any more.
  ///
  /// From any thread, any number of times, also from within the callback. Waits for a callback that runs on another thread
  /// at this moment, so do not hold a lock that the callback takes.
  public func cancel() { onCancel() }
}
