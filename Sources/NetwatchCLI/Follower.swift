import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Prints the state, then each change: one loop, one thread.
final class Follower {
  /// As the last line said.
  private(set) var isReachable = false
  private let configuration: MonitorConfiguration
  private let renderer: any LineRenderer
  private let count: Int?
  private var lines: UInt64 = 0
  private var failure: (any Error)?

  /// - Parameter count: how many lines to print, nil for no end.
  init(configuration: MonitorConfiguration, renderer: any LineRenderer, count: Int?) {
    self.configuration = configuration
    self.renderer = renderer
    self.count = count
  }

  /// Returns when the reader is gone or enough lines are printed.
  func run() throws {
    let output = try StandardOutput()
    let loop = try EventLoop()
    try output.whenReaderGoes(on: loop) { [unowned loop] in loop.stop() }
    try renderer.prepare(on: loop)
    let reachability = try NetlinkReachability(
      loop: loop, configuration: configuration,
      handlers: .init(
        publish: { [unowned self, unowned loop] path, change, moment in
          publish(path, change, moment, to: output, on: loop)
        },
        fail: { [unowned self, unowned loop] error in stop(loop, because: error) }))
    try reachability.start()
    if !isFinished(output) { try loop.run() }
    if let failure { throw failure }
  }

  private func publish(
    _ path: NetworkPath, _ change: ReachabilityMachine.Change, _ moment: NetlinkReachability.Moment,
    to output: StandardOutput, on loop: EventLoop
  ) {
    if isFinished(output) { return }
    if case .interfaces = change, !configuration.publishesInterfaceChanges { return }
    isReachable = path.isReachable
    lines += 1
    let record = EventRecord(
      sequence: lines, nanosecondsSince1970: moment.wall, monotonicNanoseconds: moment.monotonic, event: .init(change),
      path: path)
    do throws(CommandFailure) {
      try renderer.print(record, to: output)
    } catch {
      stop(loop, because: error)
    }
    if isFinished(output) { loop.stop() }
  }

  private func stop(_ loop: EventLoop, because error: any Error) {
    failure = failure ?? error
    loop.stop()
  }

  private func isFinished(_ output: StandardOutput) -> Bool {
    output.isReaderGone || failure != nil || count.map { lines >= $0 } ?? false
  }
}

extension EventRecord.Event {
  init(_ change: ReachabilityMachine.Change) {
    switch change {
    case .initial: self = .initial
    case .reachability: self = .reachability
    case .interfaces: self = .interfaces
    }
  }
}
