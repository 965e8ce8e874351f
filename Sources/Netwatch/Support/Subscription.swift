/// A subscription to a callback. The callback is called until ``cancel()``, or until the last reference to the subscription
/// is released.
///
/// A subscription keeps the monitor or indicator alive that created it.
public final class Subscription: Sendable {
  private let owner: any AnyObject & Sendable
  private let onCancel: @Sendable () -> Void

  package init(of owner: any AnyObject & Sendable, onCancel: @escaping @Sendable () -> Void) {
    self.owner = owner
    self.onCancel = onCancel
  }

  deinit { onCancel() }

  /// Ends the subscription. When this has returned, the callback does not run and is not called any more.
  ///
  /// Can be called from any thread, any number of times, and also from within the callback. The call waits if the callback is
  /// running on another thread, so do not hold a lock that the callback takes.
  public func cancel() { onCancel() }
}
