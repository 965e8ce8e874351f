import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchStream

/// Prints records as lines, and runs hooks for each, until the reader is gone or enough lines are printed.
final class Follower {
  private let renderer: any LineRenderer
  private let count: Int?
  private let loop: EventLoop
  private let output: StandardOutput
  private let hooks: HookRunner?
  private let conditions: [Condition]
  private let networkKey: [UInt8]?
  private let log: LogFeed?
  private var source: LineSource?
  private var lines = 0
  /// Whether the last line says what is wanted, and, where that is probed, that the internet answers.
  private(set) var isAsWanted = false

  /// - Parameters:
  ///   - renderer: what the lines look like.
  ///   - count: how many lines to print; nil for no end.
  ///   - hooks: what runs for each line; nil for nothing.
  ///   - isLogged: whether changes go to the log.
  ///   - namesPrograms: whether lines name the programs whose connections are in flight.
  ///   - conditions: what is wanted; if there are none, that the network is reachable.
  ///   - networkKey: that of this machine, for IDs of networks; nil if a condition or a line needs none.
  ///   - namesNetwork: whether lines have the ID of the network.
  init(
    _ options: LineSource.Options, renderer: any LineRenderer, count: Int? = nil,
    hooks: HookSettings? = nil, isLogged: Bool = false, namesPrograms: Bool = false, conditions: [Condition] = [],
    networkKey: [UInt8]? = nil, namesNetwork: Bool = false
  ) throws {
    self.conditions = conditions
    self.networkKey = networkKey
    self.renderer = renderer
    self.count = count
    output = try StandardOutput()
    loop = try EventLoop()
    self.hooks = try hooks.map { [loop] in try HookRunner($0, on: loop) }
    log = isLogged ? try LogFeed(on: loop) : nil
    let source = try LineSource(options, on: loop) { [unowned self] record in print(record) }
    self.source = source
    try output.whenReaderGoes(on: loop) { [unowned source] in source.finish() }
    try renderer.prepare(on: loop)
    renderer.onFailure { [unowned source] error in source.fail(error) }
    renderer.nameRequests { [unowned source] record in source.labels(of: record) }
    if namesNetwork { renderer.nameNetwork { [unowned self] in network } }
    guard namesPrograms else { return }
    // Nothing else is to be done by who prints one line.
    let searchTime = count == 1 ? Duration.seconds(1) : .milliseconds(50)
    renderer.namePrograms { [unowned source] record in source.programs(of: record, within: searchTime) }
  }

  func run() throws {
    do {
      try source?.start()
      try source?.run()
    } catch {
      // The disk may be what has failed.
      try? renderer.printEnd(to: output)
      throw error
    }
    source?.stop()
    try log?.finish()
    try hooks?.finish()
  }

  private var network: NetworkIdentity? { networkKey.flatMap { source?.network(key: $0) } }

  private func print(_ record: EventRecord) {
    if renderer.shows(record) { lines += 1 }
    isAsWanted = conditions.hold(for: record, in: network)
    do throws(PlainError) {
      try renderer.print(record, to: output)
      // A command each second is not what its author meant.
      if record.event != .traffic { hooks?.run(record) }
    } catch {
      source?.fail(error)
    }
    log?.add(record)
    if output.isReaderGone || lines >= count ?? .max { source?.finish() }
  }
}
