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
  /// From a line to what it means for probes. Who reads the line may wait for our processor, and goes first.
  private static let courtesy = Duration.milliseconds(2)

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
  /// Of the last line, as long as the runner does not know of it.
  private var newPath: NetworkPath?

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

  func stop() {
    newPath = nil
    runner?.stop()
  }

  func tell(_ record: EventRecord) {
    if holds { return hold(record) }
    let isPath =
      switch record.event {
      case .initial, .reachability: true
      case .activity, .interfaces: false
      }
    if isPath { internet = InternetAccess(beforeProbing: record.path.status) }
    var line = record
    print(&line)
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
    loop.schedule(after: limit) { [weak self] in self?.release() }
  }

  private func takeAnswer(_ isNews: Bool) {
    // An answer for a path that is gone counts no more.
    guard let runner, newPath == nil else { return }
    internet = runner.internet
    if isHolding { return release() }
    guard isNews, var record = last else { return }
    let moment = Moment.now
    record.event = .reachability
    record.path = record.path.with(reason: .internetChanged)
    record.nanosecondsSince1970 = moment.wall
    record.monotonicNanoseconds = moment.monotonic
    print(&record)
  }

  private func release() {
    guard isHolding, var line = last else { return }
    holds = false
    print(&line)
  }

  /// Lines of a service have its numbers, and ours are between them: we count.
  private func print(_ line: inout EventRecord) {
    count += 1
    line.sequence = count
    line.internet = internet
    handlers.print(line)
    last = line
  }

  private func fail(_ failure: CommandFailure) {
    holds = false
    last = nil
    handlers.failed(failure)
  }
}
