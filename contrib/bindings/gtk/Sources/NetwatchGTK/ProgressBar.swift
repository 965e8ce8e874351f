import CGTK
import NetwatchHTTP

/// A bar that follows uploads and downloads: filled as far as the task is, or moving to and fro while its length is not known.
@MainActor public final class ProgressBar: Widget {
  private var reader: Task<Void, Never>?

  /// Creates an empty bar.
  public init() {
    unsafe super.init(gtk_progress_bar_new())
    name("Progress")
  }

  isolated deinit { reader?.cancel() }

  /// The filled part, from 0 to 1.
  public var fraction: Double { unsafe gtk_progress_bar_get_fraction(OpaquePointer(pointer)) }

  /// Shows the progress of a task from now on, and follows no other any more. At the end of the task the bar is full; if the task fails,
  /// it stays as it is.
  public func follow(_ task: HTTPTask) {
    follow(task.progressUpdates())
  }

  /// Shows the progress of several tasks from now on, such as that of an upload of many files.
  public func follow(_ tree: HTTPProgressTree) {
    follow(tree.progressUpdates())
  }

  private func follow(_ updates: some AsyncSequence<HTTPProgress, Never> & Sendable) {
    reader?.cancel()
    show(HTTPProgress())
    reader = Task { [weak self] in
      for await progress in updates { self?.show(progress) }
    }
  }

  private func show(_ progress: HTTPProgress) {
    let bar = unsafe OpaquePointer(pointer)
    if let fraction = progress.fraction {
      unsafe gtk_progress_bar_set_fraction(bar, fraction)
    } else if progress.received + progress.sent > 0 {
      unsafe gtk_progress_bar_pulse(bar)
    } else {
      unsafe gtk_progress_bar_set_fraction(bar, 0)
    }
  }
}
