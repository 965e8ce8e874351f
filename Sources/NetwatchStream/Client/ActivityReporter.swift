import Netwatch
import NetwatchEventLoop

/// Tells the service of this machine what an app's `ActivityIndicator` counts, so that the status bar shows it:
///
/// ```swift
/// let reporter = try ActivityReporter(of: indicator)
/// ```
///
/// It reports as long as it lives, on a thread of its own, and goes on unharmed where there is no service, or where it dies
/// and comes back. The app's requests never wait for it.
public final class ActivityReporter: Sendable {
  private let indicator: ActivityIndicator
  private let handle: LoopHandle
  private let report: Report

  /// - Parameters:
  ///   - indicator: whose requests are told.
  ///   - label: for people who look at the service: what the app's requests are about. What is beyond 256 bytes is cut off.
  /// - Throws: `SystemError` where no thread or descriptor is left.
  public convenience init(of indicator: ActivityIndicator, label: String? = nil) throws {
    try self.init(of: indicator, label: label, to: ServiceAddress.candidates)
  }

  package init(of indicator: ActivityIndicator, label: String? = nil, to addresses: [ServiceAddress]) throws {
    self.indicator = indicator
    (handle, report) = try BackgroundLoop.start(name: "netwatch-report") { loop in
      (loop.handle, Report(of: indicator, label, to: addresses, on: loop))
    }
    indicator.onBusyChange(of: report) { [handle, report] in handle.submit { _ in report.look() } }
    handle.submit { [report] _ in report.look() }
  }

  deinit {
    indicator.onBusyChange(of: report, nil)
    handle.submit { [report] loop in
      report.close()
      loop.stop()
    }
  }
}

/// The half that lives on the loop's thread.
///
/// `@unchecked`: made there, and used by jobs that run there alone; after ``close()`` it may be released anywhere.
private final class Report: @unchecked Sendable {
  /// While something runs, the count is looked at so often; its beginning and its end are told at once.
  private static let interval = Duration.milliseconds(250)

  private unowned let loop: EventLoop
  private let indicator: ActivityIndicator
  private var lease: ActivityLease?
  private var isLooking = false

  init(of indicator: ActivityIndicator, _ label: String?, to addresses: [ServiceAddress], on loop: EventLoop) {
    self.indicator = indicator
    self.loop = loop
    lease = ActivityLease(label, to: addresses, on: loop)
  }

  func close() { lease = nil }

  func look() {
    guard let lease else { return }
    let count = indicator.count
    if count != lease.count { lease.count = count }
    guard count > 0, !isLooking else { return }
    isLooking = true
    loop.schedule(after: Self.interval) { [self] in
      isLooking = false
      look()
    }
  }
}
