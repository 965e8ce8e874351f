import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Adds the result of internet probes to each record, and reports a new result.
///
/// A record never waits for a probe, unless it is the only record.
package final class ProbeAnnotator {
  /// The time that a probe may take beyond its timeout before it is given up.
  private static let patience = Duration.seconds(1)
  /// The time between a line and the probe for it, in which the reader of the line gets the processor.
  private static let startDelay = Duration.milliseconds(2)

  private let loop: EventLoop
  private let settings: ProbeSettings
  private let emit: (EventRecord) -> Void
  private let resultChanged: () -> Void
  private let failed: (PlainError) -> Void
  /// The runner of probes; nil if the helper is missing.
  private var runner: ProbeRunner?
  /// The result in the current lines.
  private var internet = InternetAccess.unknown
  /// Whether the next record is held until its result is known.
  private var holds: Bool
  /// The record that waits for its result; nil if none does.
  private(set) var heldRecord: EventRecord?
  /// The path of the last line while the runner has not got it yet.
  private var newPath: NetworkPath?

  /// Creates an annotator.
  ///
  /// - Parameters:
  ///   - warn: The closure that gets each sentence for people.
  ///   - emit: The closure that gets each record with its result.
  ///   - resultChanged: The closure that is called when the last record needs another result, which ``annotate(_:)`` adds.
  ///   - begins: The closure that is called when a probe begins.
  ///   - failed: The closure that is called when no probe can be made, if ``ProbeSettings/isRequired``.
  /// - Throws: A `PlainError` if probes are required and the helper is missing. If they are not required, `warn` gets the
  ///   sentence, and all results are unknown.
  package init(
    _ settings: ProbeSettings, on loop: EventLoop, warn: @escaping (_ sentence: String) -> Void,
    emit: @escaping (EventRecord) -> Void, resultChanged: @escaping () -> Void, begins: @escaping () -> Void = {},
    failed: @escaping (PlainError) -> Void
  ) throws(PlainError) {
    self.settings = settings
    self.loop = loop
    self.emit = emit
    self.resultChanged = resultChanged
    self.failed = failed
    holds = settings.holdsFirstLine
    do throws(PlainError) {
      runner = try ProbeRunner(
        settings, on: loop, warn: warn, begins: begins, answered: { [unowned self] isNews in addAnswer(isNews) },
        failed: { [unowned self] failure in fail(failure) })
    } catch {
      guard !settings.isRequired else { throw error }
      warn(error.description)
    }
  }

  /// Whether a line waits for its result.
  package var isHolding: Bool { heldRecord != nil }

  /// Stops the probes.
  package func stop() {
    newPath = nil
    runner?.stop()
  }

  /// Adds the result to a record and passes it on.
  package func add(_ record: EventRecord) {
    if holds { return hold(record) }
    let isPath = record.event == .initial || record.event == .reachability
    if isPath { internet = InternetAccess(beforeProbing: record.path.status) }
    emitWithResult(record)
    if isPath { informRunner(of: record.path) }
  }

  /// Probes again soon, because the result may be old. It stays until the answer has come.
  func probeAgain() { runner?.probeAgain() }

  /// Sets the result in a record.
  func annotate(_ record: inout EventRecord) {
    record.internet = internet
    record.portalURL = if case .portal = internet { runner?.portal } else { nil }
  }

  private func informRunner(of path: NetworkPath) {
    let isTimed = newPath != nil
    newPath = path
    if isTimed { return }
    loop.schedule(after: Self.startDelay) { [weak self] in
      guard let self, let path = newPath else { return }
      newPath = nil
      runner?.pathChanged(path)
    }
  }

  /// Holds the first record until its result is known. The source of requests may send the same path again.
  private func hold(_ record: EventRecord) {
    let isPath = heldRecord.map { !record.path.saysTheSame(as: $0.path) } ?? true
    if heldRecord == nil { limitTheWait() }
    heldRecord = record.asInitial
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
    // A result for a path that is gone does not count.
    guard let runner, newPath == nil else { return }
    internet = runner.internet
    if isHolding { return release() }
    if isNews { resultChanged() }
  }

  private func release() {
    guard let record = heldRecord else { return }
    (holds, heldRecord) = (false, nil)
    emitWithResult(record)
  }

  private func emitWithResult(_ record: EventRecord) {
    var record = record
    annotate(&record)
    emit(record)
  }

  private func fail(_ failure: PlainError) {
    (holds, heldRecord) = (false, nil)
    failed(failure)
  }
}
