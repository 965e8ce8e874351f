import Netwatch
import NetwatchEventLoop

/// Tells the netwatch service about the requests that an app's `ActivityIndicator` counts, so that the status bar shows them too.
///
/// ```swift
/// let reporter = try ActivityReporter(of: indicator)
/// ```
///
/// The reporter works on its own thread as long as you hold it. If there is no service, it does nothing. When a service starts
/// or comes back, the reporter reports the running requests to it. The app's requests never wait for the reporter.
public final class ActivityReporter: Sendable {
  private let indicator: ActivityIndicator
  private let handle: LoopHandle
  private let report: Report

  /// Creates a reporter and starts its thread.
  ///
  /// - Parameters:
  ///   - indicator: The indicator whose requests are reported.
  ///   - label: A text that describes those requests that have no label of their own. Whoever runs the service can read the
  ///     labels. Text beyond 256 bytes is cut off. Default: nil, no label.
  /// - Throws: An error of the system, if it has no thread or descriptor left.
  public convenience init(of indicator: ActivityIndicator, label: String? = nil) throws {
    try self.init(of: indicator, label: label, to: ServiceAddress.candidates)
  }

  /// Creates a reporter that connects to the first of `addresses` at which a service answers. Throws a `SystemError`.
  package init(of indicator: ActivityIndicator, label: String? = nil, to addresses: [ServiceAddress]) throws {
    self.indicator = indicator
    (handle, report) = try EventLoop.startInBackground(name: "netwatch-report") { loop in
      (loop.handle, Report(of: indicator, label, to: addresses, on: loop))
    }
    indicator.onRequestChange(of: report) { [handle, report] in handle.submit { _ in report.requestsChanged() } }
    handle.submit { [report] _ in report.requestsChanged() }
  }

  deinit {
    indicator.onRequestChange(of: report, nil)
    handle.submit { [report] loop in
      report.close()
      loop.stop()
    }
  }
}

/// The half of an ``ActivityReporter`` that lives on the loop's thread.
///
/// `@unchecked`: `init` and every job that uses a report run on that thread; after ``close()`` it may be released anywhere.
private final class Report: @unchecked Sendable {
  /// The shortest time between two messages while a request runs. The first begin and the last end are reported at once.
  private static let interval = Duration.milliseconds(250)

  private let indicator: ActivityIndicator
  private let label: String?
  private var link: ServiceLink?
  private var timer: LoopTimer?

  init(of indicator: ActivityIndicator, _ label: String?, to addresses: [ServiceAddress], on loop: EventLoop) {
    self.indicator = indicator
    self.label = label
    link = ServiceLink(to: addresses, on: loop)
    link?.start()
    timer = LoopTimer(on: loop) { [unowned self] in send() }
  }

  func close() { (link, timer) = (nil, nil) }

  /// Reports the requests, or later if that was done a moment ago.
  func requestsChanged() {
    let isTurn = (indicator.count == 0) != (link?.requests.count == 0)
    if isTurn || timer?.deadline == nil { send() }
  }

  private func send() {
    guard let link else { return }
    let (count, labels) = indicator.takeRequests()
    let others = repeatElement(label, count: min(max(count - labels.count, 0), ClientMessage.requestLimit))
    let requests = RunningRequests(labels + others)
    guard requests != link.requests else { return }
    link.requests = requests
    timer?.set(after: Self.interval)
  }
}
