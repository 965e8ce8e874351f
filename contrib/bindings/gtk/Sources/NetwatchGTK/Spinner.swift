import CGTK
import Netwatch
import NetwatchHTTP

/// A spinner that turns while something is in flight: a task, or the requests of an indicator with its delays. It takes no room while
/// it stands still.
@MainActor public final class Spinner: Widget {
  private var reader: Task<Void, Never>?
  private var subscription: CallbackSubscription?

  /// Creates a spinner that stands still.
  public init() {
    unsafe super.init(gtk_spinner_new())
    name("In progress")
    isTurning = false
  }

  isolated deinit { reader?.cancel() }

  /// Whether the spinner turns. It is also set by what the spinner follows.
  public var isTurning: Bool {
    get { unsafe gtk_spinner_get_spinning(OpaquePointer(pointer)) != 0 }
    set {
      unsafe gtk_spinner_set_spinning(OpaquePointer(pointer), newValue ? 1 : 0)
      isVisible = newValue
    }
  }

  /// Turns while a task runs, and follows nothing else any more. A suspended task stands still.
  public func follow(_ task: HTTPTask) {
    stop()
    reader = Task { [weak self, states = task.states] in
      for await state in states { self?.isTurning = state == .running }
      self?.isTurning = false
    }
  }

  /// Turns while an indicator is visible, and follows nothing else any more.
  public func follow(_ indicator: ActivityIndicator) {
    stop()
    subscription = indicator.onVisibilityChange { [weak self] in self?.isTurning = $0 }
  }

  /// Stands still, and follows nothing any more.
  public func stop() {
    reader?.cancel()
    (reader, subscription) = (nil, nil)
    isTurning = false
  }
}
