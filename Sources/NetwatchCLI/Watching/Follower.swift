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
  private let conditions: [NetworkCondition]
  private let namesPrograms: Bool
  private let namesNetwork: Bool
  private let networkKey: [UInt8]?
  private let log: LogFeed?
  private var source: StatusSource?
  private var lines = 0
  /// Whether the conditions hold for the last record and, if the internet was probed, it answers.
  var isAsWanted: Bool { last.map { conditions.hold(for: $0, in: network) } ?? false }
  /// The record of the last line; nil before the first one.
  private(set) var last: EventRecord?

  /// - Parameters:
  ///   - renderer: The renderer that prints the lines.
  ///   - count: The number of lines to print. Default: nil, no limit.
  ///   - hooks: The hooks that run for each line. Default: nil, no hooks.
  ///   - isLogged: Whether changes are stored in the log. Default: false.
  ///   - namesPrograms: Whether lines name the programs whose connections are in flight. Default: false.
  ///   - conditions: The conditions for ``isAsWanted``. Default: none; then the network has to be reachable.
  ///   - networkKey: The key of this machine for IDs of networks. Default: nil, because no condition or line needs such an ID.
  ///   - namesNetwork: Whether lines have the ID of the network. Default: false.
  init(
    _ options: StatusOptions, renderer: any LineRenderer, count: Int? = nil,
    hooks: HookSettings? = nil, isLogged: Bool = false, namesPrograms: Bool = false,
    conditions: [NetworkCondition] = [],
    networkKey: [UInt8]? = nil, namesNetwork: Bool = false
  ) throws {
    self.conditions = conditions
    self.networkKey = networkKey
    self.renderer = renderer
    self.count = count
    self.namesPrograms = namesPrograms
    self.namesNetwork = namesNetwork
    output = try StandardOutput()
    loop = try EventLoop()
    self.hooks = try hooks.map { [loop] in try HookRunner($0, on: loop) }
    log = isLogged ? try LogFeed(on: loop) : nil
    let source = try StatusSource(options, on: loop) { [unowned self] record in print(record) }
    self.source = source
    // Whoever holds losses back wants no short ones.
    if let log, options.configuration.hold == .zero {
      source.linksChanged = { [unowned log] in log.linksChanged($0, at: $1) }
    }
    try output.whenReaderGoes(on: loop) { [unowned source] in source.finish() }
    try renderer.prepare(on: loop) { [unowned source] error in source.fail(error) }
  }

  /// Prints the lines.
  ///
  /// - Parameters:
  ///   - manager: The service manager whose watchdog is fed. Default: nil.
  ///   - begin: Called when the source has started, with whether a service counts requests. Default: nothing.
  func run(under manager: ServiceManager? = nil, begin: (_ hasService: Bool) -> Void = { _ in }) throws {
    do {
      try source?.start()
      manager?.feedWatchdog(on: loop)
      begin(source?.hasService ?? false)
      try source?.run()
    } catch {
      // This may fail too, because the error may be a full disk.
      try? renderer.printEnd(to: output)
      throw error
    }
    source?.stop()
    // If the reader goes first, nobody waits for the hook, and it ends with netwatch.
    let hasPrintedAll = lines >= count ?? .max
    try log?.finish()
    if hasPrintedAll { try hooks?.finish() }
  }

  /// The ID of the network that carries the last path; nil while it is not known.
  private(set) var network: NetworkIdentity?

  private func print(_ record: EventRecord) {
    // First, because whoever reads the line may end netwatch at once.
    log?.add(record)
    network = networkKey.flatMap { source?.network(key: $0) }
    last = record
    do throws(PlainError) {
      if try renderer.print(record, names(of: record), to: output) { lines += 1 }
      // Hooks do not run for traffic lines, because they come each second.
      if record.event != .traffic { hooks?.run(record) }
    } catch {
      source?.fail(error)
    }
    if output.isReaderGone || lines >= count ?? .max { source?.finish() }
  }

  private func names(of record: EventRecord) -> LineNames {
    var names = LineNames(requests: { [self] in source?.labels(of: record) ?? [] })
    if namesPrograms {
      // A process that prints one line has nothing else to do, so it may search longer.
      let searchTime = count == 1 ? Duration.seconds(1) : .milliseconds(50)
      names.programs = { [self] in source?.programs(of: record, within: searchTime) }
    }
    if namesNetwork { names.network = { [self] in network } }
    return names
  }
}
