import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Lines on their way to the reader: puts into each what probes of the internet have found, and makes one of its own where
/// that changes.
///
/// A line never waits for a probe, unless it is the only one.
final class ProbedLines {
  struct Handlers {
    let print: (EventRecord) -> Void
    /// The only line can not be made.
    let failed: (CommandFailure) -> Void
  }

  /// What a probe that does not end may take beyond all that it is allowed.
  private static let patience = Duration.seconds(1)

  private let loop: EventLoop
  private let limit: Duration
  private let handlers: Handlers
  /// Nil where there is no helper.
  private var runner: ProbeRunner?
  /// What lines say now.
  private var internet = InternetAccess.unknown
  private var count: UInt64 = 0
  /// What was printed last, or waits to be.
  private var last: EventRecord?
  private var holds: Bool

  /// - Parameter holdsFirst: whether the first line waits for the answer, at most for as long as an answer may take.
  /// - Throws: if it does, and there is no helper. Else that is told, and all is unknown.
  init(
    _ settings: ProbeSettings, holdsFirst: Bool, on loop: EventLoop, _ children: ChildEndings, handlers: Handlers
  ) throws(CommandFailure) {
    self.loop = loop
    self.handlers = handlers
    holds = holdsFirst
    limit = settings.timing.limit + Self.patience
    do throws(CommandFailure) {
      runner = try ProbeRunner(
        settings, on: loop, children,
        handlers: .init(
          answered: { [unowned self] isNews in takeAnswer(isNews) },
          failed: holdsFirst ? { [unowned self] failure in fail(failure) } : nil))
    } catch {
      guard !holdsFirst else { throw error }
      CommandFailure.report(error.message)
    }
  }

  /// Whether a line waits for its answer.
  var isHolding: Bool { holds && last != nil }

  /// Whether the last line says that the internet is there.
  var hasInternet: Bool { internet.isFull }

  func stop() { runner?.stop() }

  func tell(_ record: EventRecord) {
    let isPath: Bool
    switch record.event {
    // Who counts the requests may tell of the path once more.
    case .initial, .reachability: isPath = !isHolding || last.map { !record.path.saysTheSame(as: $0.path) } ?? true
    case .activity, .interfaces: isPath = false
    }
    if isPath { internet = InternetAccess(beforeProbing: record.path.status) }
    if holds, last == nil { limitTheWait() }
    last = holds ? record.asInitial : record
    if !holds { print() }
    // The line is written: now there is time.
    if isPath { runner?.pathChanged(record.path) }
    if runner?.awaitsAnswer != true { release() }
  }

  private func limitTheWait() {
    loop.schedule(at: KernelClock.monotonic.now + limit) { [weak self] in self?.release() }
  }

  private func takeAnswer(_ isNews: Bool) {
    guard let runner else { return }
    internet = runner.internet
    if isHolding { return release() }
    guard isNews, var record = last else { return }
    let moment = NetlinkReachability.Moment.now
    record.event = .reachability
    record.path = record.path.with(reason: .internetChanged)
    record.nanosecondsSince1970 = moment.wall
    record.monotonicNanoseconds = moment.monotonic
    last = record
    print()
  }

  private func release() {
    guard isHolding else { return }
    holds = false
    print()
  }

  /// Lines of a service have its numbers, and ours are between them: we count.
  private func print() {
    guard var record = last else { return }
    count += 1
    record.sequence = count
    record.internet = internet
    handlers.print(record)
  }

  private func fail(_ failure: CommandFailure) {
    holds = false
    last = nil
    handlers.failed(failure)
  }
}
