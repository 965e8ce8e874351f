import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Puts into each record what probes of the internet have found, and adds one of its own where that changes.
///
/// A record never waits for a probe, unless it is the only one.
package final class ProbeAnnotator {
  /// What a probe that does not end may take beyond all that it is allowed.
  private static let patience = Duration.seconds(1)
  /// From a line to what it means for probes. Who reads the line may wait for our processor, and goes first.
  private static let courtesy = Duration.milliseconds(2)

  private let loop: EventLoop
  private let settings: ProbeSettings
  private let tell: (EventRecord) -> Void
  private let failed: (PlainError) -> Void
  /// Nil where there is no helper.
  private var runner: ProbeRunner?
  /// What lines say now.
  private var internet = InternetAccess.unknown
  /// What was told last, or waits to be.
  private var last: EventRecord?
  private var holds: Bool
  /// Of the last line, as long as the runner does not know of it.
  private var newPath: NetworkPath?

  /// - Parameters:
  ///   - say: gets each sentence for people.
  ///   - tell: is given each record with what has been found.
  ///   - begins: called when a probe begins.
  ///   - failed: called when no probe can be made, if ``ProbeSettings/isRequired``.
  /// - Throws: if one is required, and there is no helper. Else that is told, and all is unknown.
  package init(
    _ settings: ProbeSettings, on loop: EventLoop, say: @escaping (_ sentence: String) -> Void,
    tell: @escaping (EventRecord) -> Void, begins: @escaping () -> Void = {},
    failed: @escaping (PlainError) -> Void
  ) throws(PlainError) {
    self.settings = settings
    self.loop = loop
    self.tell = tell
    self.failed = failed
    holds = settings.holdsFirstLine
    do throws(PlainError) {
      runner = try ProbeRunner(
        settings, on: loop, say: say, begins: begins, answered: { [unowned self] isNews in addAnswer(isNews) },
        failed: { [unowned self] failure in fail(failure) })
    } catch {
      guard !settings.isRequired else { throw error }
      say(error.description)
    }
  }

  /// Whether a line waits for its answer.
  package var isHolding: Bool { holds && last != nil }

  package func stop() {
    newPath = nil
    runner?.stop()
  }

  package func add(_ record: EventRecord) {
    if holds { return hold(record) }
    let isPath =
      switch record.event {
      case .initial, .reachability: true
      case .activity, .interfaces, .traffic, .wifi, .quality, .stages: false
      }
    if isPath { internet = InternetAccess(beforeProbing: record.path.status) }
    handOn(record)
    if isPath { tellRunner(of: record.path) }
  }

  private func tellRunner(of path: NetworkPath) {
    let isTimed = newPath != nil
    newPath = path
    if isTimed { return }
    loop.schedule(after: Self.courtesy) { [weak self] in
      guard let self, let path = newPath else { return }
      newPath = nil
      runner?.pathChanged(path)
    }
  }

  /// Who counts the requests may tell of the same path once more.
  private func hold(_ record: EventRecord) {
    let isPath = last.map { !record.path.saysTheSame(as: $0.path) } ?? true
    if last == nil { limitTheWait() }
    last = record.asInitial
    if isPath {
      internet = InternetAccess(beforeProbing: record.path.status)
      runner?.pathChanged(record.path)
    }
    if runner?.awaitsAnswer != true { release() }
  }

  private func limitTheWait() {
    loop.schedule(after: settings.timing.limit + Self.patience) { [weak self] in self?.release() }
  }

  private func addAnswer(_ isNews: Bool) {
    // An answer for a path that is gone counts no more.
    guard let runner, newPath == nil else { return }
    internet = runner.internet
    if isHolding { return release() }
    guard isNews, var record = last else { return }
    record.event = .reachability
    record.path = record.path.with(reason: .internetChanged)
    record.setDateToNow()
    handOn(record)
  }

  private func release() {
    guard isHolding, let last else { return }
    holds = false
    handOn(last)
  }

  private func handOn(_ record: EventRecord) {
    var record = record
    record.internet = internet
    record.portalURL = if case .portal = internet { runner?.portal } else { nil }
    tell(record)
    last = record
  }

  private func fail(_ failure: PlainError) {
    holds = false
    last = nil
    failed(failure)
  }
}
