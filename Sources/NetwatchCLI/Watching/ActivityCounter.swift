import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// What is counted as in flight, and how: `--activity` and what belongs to it.
struct ActivitySettings {
  enum Choice: String, CaseIterable {
    /// What programs announce to the service.
    case requests
    /// TCP connections of programs that announce nothing.
    case tcp
    case all

    /// As a service tells it to its clients.
    var counts: ServiceIdentity.Counts {
      switch self {
      case .requests: .requests
      case .tcp: .tcp
      case .all: .all
      }
    }

    var countsConnections: Bool { self != .requests }
    var countsRequests: Bool { self != .tcp }
  }

  var choice = Choice.requests
  var connections = ConnectionCounter.Configuration()
}

/// Counts what is in flight, and runs the indicator on it.
///
/// TCP connections are looked at only between ``watch(_:)`` and ``rest()``; where they do not count, nothing of that exists.
final class ActivityCounter {
  private let settings: ActivitySettings
  private let loop: EventLoop
  private let runner: ActivityRunner
  private var connections: ConnectionCounter?

  /// - Parameter changed: called after each change of ``activity``, with its reason.
  init(_ settings: ActivitySettings, on loop: EventLoop, changed: @escaping (EventRecord.ActivityReason) -> Void) {
    self.settings = settings
    self.loop = loop
    runner = ActivityRunner(on: loop, changed: changed)
    guard settings.choice.countsConnections else { return }
    do {
      connections = try ConnectionCounter(
        settings.connections, on: loop,
        changed: { [unowned self] in runner.setConnectionCount($0.count, at: $0.date) },
        decision: { [unowned self] in runner.deadline },
        failed: { [unowned self] error in giveUp(error) })
      runner.setConnectionCount(0, at: KernelClock.monotonic.now)
    } catch {
      warn(error)
    }
  }

  var activity: EventRecord.Activity { runner.activity }

  /// How many requests programs have announced.
  func setRequests(_ count: Int) { if settings.choice.countsRequests { runner.setCount(count) } }

  /// Begins to look at connections, and calls `body` when ``activity`` says what is.
  func watch(_ body: @escaping () -> Void) {
    guard let connections else { return body() }
    connections.afterScan { [self] in
      runner.fireDue()
      body()
    }
  }

  /// The same, but returns when it is done.
  func watchNow() {
    connections?.scanNow()
    runner.fireDue()
  }

  /// Nobody wants to know about connections any more.
  func rest() { connections?.rest() }

  /// Whose connections are in flight, as far as this user may know and that can be told in time.
  func programs(within time: Duration) -> [NamedCount] {
    connections?.programs(within: time).map { NamedCount(name: $0.name, count: $0.connections) }
      ?? []
  }

  /// Tells of programs that were to be left out, if programs cannot be seen from here.
  func warnOfUnseenPrograms() {
    guard let programs = connections?.unseenPrograms, !programs.isEmpty else { return }
    CommandFailure.report(
      "the TCP connections of \(programs.map(\.harmless).joined(separator: ", ")) count: a user namespace or /proc hides "
        + "which connections are theirs; name a port or an address with --activity-ignore instead")
  }

  private func giveUp(_ error: NetlinkError) {
    warn(error)
    runner.forgetConnections()
    // Its handler is on the stack.
    let old = connections
    connections = nil
    loop.schedule(after: .zero) { withExtendedLifetime(old) {} }
  }

  private func warn(_ error: any Error) {
    CommandFailure.report("TCP connections are not counted, all else works: \(error)")
  }
}
