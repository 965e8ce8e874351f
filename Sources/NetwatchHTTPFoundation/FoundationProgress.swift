import Foundation
import Netwatch
import NetwatchHTTP

extension HTTPTask {
  /// Returns a `Progress` that follows the task, in bytes of both bodies. You can add it to a `Progress` of your own.
  ///
  /// ```swift
  /// let progress = task.foundationProgress(on: HTTPExecutor(on: MainActor.shared))
  /// whole.addChild(progress, withPendingUnitCount: 1)
  /// ```
  ///
  /// Its `cancel()` cancels the task, its `pause()` suspends the task, and its `resume()` begins or continues the task. It is
  /// indeterminate until a length is known, and finished when the task is over, whatever the result is. It holds the task.
  ///
  /// - Parameter executor: The executor that changes the `Progress`. It must be that of the actor or of the serial queue that
  ///   reads the `Progress`, which has no lock on Linux.
  public func foundationProgress(on executor: HTTPExecutor) -> Progress {
    foundationProgress(on: executor, HTTPProgressTree())
  }

  /// - Parameter tree: A tree without tasks.
  func foundationProgress(on executor: HTTPExecutor, _ tree: HTTPProgressTree) -> Progress {
    tree.add(self)
    return FollowingProgress(tree, ofBytes: true, on: executor, cancel: cancel, (suspend, resume))
  }
}

extension HTTPDownload {
  /// Returns a `Progress` that follows the download, in bytes of the file. You can add it to a `Progress` of your own.
  ///
  /// Its `cancel()` cancels the download and keeps the received bytes, its `pause()` pauses the download, and its `resume()`
  /// begins or continues the download. It is indeterminate until the length is known, and finished when the download is over,
  /// whatever the result is. It holds the download.
  ///
  /// - Parameter executor: The executor that changes the `Progress`. It must be that of the actor or of the serial queue that
  ///   reads the `Progress`, which has no lock on Linux.
  public func foundationProgress(on executor: HTTPExecutor) -> Progress {
    let tree = HTTPProgressTree()
    tree.add(self)
    return FollowingProgress(
      tree, ofBytes: true, on: executor, cancel: { self.cancel(keepsFiles: true) }, (pause, resume))
  }
}

extension HTTPProgressTree {
  /// Returns a `Progress` that follows the tree, in 10,000 units. You can add it to a `Progress` of your own.
  ///
  /// Its `cancel()` cancels the tasks of the tree. It is finished when all tasks are over, and does not follow tasks that are
  /// added afterwards. It holds the tree.
  ///
  /// - Parameter executor: The executor that changes the `Progress`. It must be that of the actor or of the serial queue that
  ///   reads the `Progress`, which has no lock on Linux.
  public func foundationProgress(on executor: HTTPExecutor) -> Progress {
    FollowingProgress(self, ofBytes: false, on: executor, cancel: cancel, nil)
  }
}

/// A progress that follows a tree. It overrides what its parents call instead of setting handlers. Foundation runs each handler
/// on any thread, so a task could be suspended after the call that resumes it.
///
/// `@unchecked`, like its superclass: the caller promises that nobody uses the progress beside the executor.
private final class FollowingProgress: Progress, @unchecked Sendable {
  private static let units: Int64 = 10_000

  private let countsBytes: Bool
  private let onCancel: @Sendable () -> Void
  private let pausing: (pause: @Sendable () -> Void, resume: @Sendable () -> Void)?
  private var subscription: CallbackSubscription?

  init(
    _ tree: HTTPProgressTree, ofBytes countsBytes: Bool, on executor: HTTPExecutor,
    cancel onCancel: @escaping @Sendable () -> Void,
    _ pausing: (pause: @Sendable () -> Void, resume: @Sendable () -> Void)?
  ) {
    self.countsBytes = countsBytes
    self.onCancel = onCancel
    self.pausing = pausing
    super.init(parent: nil, userInfo: nil)
    isCancellable = true
    isPausable = pausing != nil
    if countsBytes { kind = .file }
    totalUnitCount = countsBytes ? -1 : Self.units
    show(tree.progress)
    subscription = tree.onProgress(on: executor) { [weak self] in self?.show($0) }
  }

  private func show(_ progress: HTTPProgress) {
    // A progress that was finished has been taken out of its parent.
    guard !isFinished else { return }
    var (completed, total) = (Int64((progress.fraction ?? 0) * Double(Self.units)), Self.units)
    if countsBytes {
      completed = Self.sum(progress.sent, progress.received)
      total = Self.sum(progress.totalToSend ?? 0, progress.totalToReceive ?? 0)
    }
    if progress.fraction == 1 {
      set(max(completed, 1), of: max(completed, 1))
    } else {
      // A length that is not known any more leaves the old one. Only the end of the task finishes the progress.
      if total == 0 { total = totalUnitCount }
      set(total > 0 ? min(completed, total - 1) : completed, of: total)
    }
  }

  /// Sets both numbers one after the other, in the order in which the first does not reach the second meanwhile, which would
  /// finish the progress.
  private func set(_ completed: Int64, of total: Int64) {
    if totalUnitCount > 0, total > totalUnitCount { totalUnitCount = total }
    completedUnitCount = completed
    if total != totalUnitCount { totalUnitCount = total }
  }

  private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
    let (sum, hasOverflowed) = first.addingReportingOverflow(second)
    return hasOverflowed ? .max : sum
  }

  override func cancel() {
    super.cancel()
    onCancel()
  }

  override func pause() {
    super.pause()
    pausing?.pause()
  }

  override func resume() {
    super.resume()
    pausing?.resume()
  }
}
