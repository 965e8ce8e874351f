import CGTK
import Dispatch
import Glibc

/// Runs Swift's main actor in the main context of GLib, so that callbacks, tasks and models on the main actor may use widgets.
///
/// ``Application`` does this itself. A program that has another way to run GTK calls ``join()`` once, on the main thread, before GTK's
/// main loop runs.
@MainActor public enum MainQueue {
  private static var hasJoined = false

  /// Has GLib's main context do the work of the main actor from now on. Further calls do nothing.
  public static func join() {
    guard !hasJoined else { return }
    hasJoined = true
    // The queue is made with its first use.
    let descriptor = withExtendedLifetime(DispatchQueue.main) { _dispatch_get_main_queue_handle_4CF() }
    unsafe g_unix_fd_add_full(
      G_PRIORITY_DEFAULT, descriptor, G_IO_IN,
      { descriptor, _, _ in
        var count: UInt64 = 0
        unsafe _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        _dispatch_main_queue_callback_4CF(nil)
        return gboolean(1)
      }, nil, nil)
  }
}
