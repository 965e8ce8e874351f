import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchNetlink

/// Prints what programs receive and send, once a second.
final class ProgramFollower {
  /// The form in which the figures are printed.
  enum Form { case json, text(Terminal, TrafficUnits) }

  private static let interval = Duration.seconds(1)
  /// The least number of lines with which a terminal also shows what the keys do.
  private static let fewLines = 5

  private let form: Form
  private let grouping: ProgramFigures.Grouping
  private let isOnce: Bool
  private let loop: EventLoop
  private let output: StandardOutput
  private var sampler: ProgramSampler?
  private var reachability: NetlinkReachability?
  /// The links that carry the traffic.
  private var links: [(index: Int32, name: InterfaceName)] = []
  private var screen: TerminalScreen?
  private var order: ProgramTable.Order
  private var figures = ProgramFigures()
  private var line = LineBuffer()
  private var nextLook = Duration.zero
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in tick() }
  private var failure: (any Error)?
  private var ending = ProcessEnding.exited(0)

  /// - Parameters:
  ///   - order: The order of the table, until a key changes it.
  ///   - grouping: What a row stands for.
  ///   - isOnce: Whether ``run()`` ends after the figures of the first second.
  init(
    _ form: Form, sortedBy order: ProgramTable.Order, by grouping: ProgramFigures.Grouping, isOnce: Bool
  ) throws {
    self.order = order
    self.grouping = grouping
    self.form = form
    self.isOnce = isOnce
    output = try StandardOutput()
    loop = try EventLoop()
  }

  /// Prints until the reader is gone or the user quits.
  ///
  /// - Returns: How the process has to end.
  func run() throws -> ProcessEnding {
    var configuration = MonitorConfiguration()
    configuration.findsAllCarriers = true
    let reachability = try NetlinkReachability(
      on: NetlinkSource(on: loop), configuration: configuration,
      publish: { [unowned self] path, _, _ in links = path.carriers }, fail: { [unowned self] in fail($0) })
    self.reachability = reachability
    try reachability.start()
    let sampler = try ProgramSampler(on: loop, by: grouping) { [unowned self] in fail($0) }
    self.sampler = sampler
    try output.whenReaderGoes(on: loop) { [unowned self] in loop.stop() }
    nextLook = loop.now + Self.interval
    figures = try sampler.sample(over: links)
    if case .text(let terminal, let units) = form, terminal.canDraw, !isOnce { try open(terminal, units) }
    timer.set(at: nextLook)
    try loop.run()
    reachability.stop()
    try screen?.close()
    if let failure { throw failure }
    return ending
  }

  private func open(_ terminal: Terminal, _ units: TrafficUnits) throws {
    let handlers = TerminalScreen.Handlers(
      draw: { [unowned self] in draw(terminal, units) },
      key: { [unowned self] key in
        if key == UInt8(ascii: "q") { return loop.stop() }
        guard let order = ProgramTable.Order.allCases.first(where: { $0.key.asciiValue == key }) else { return }
        self.order = order
        draw(terminal, units)
      },
      end: { [unowned self] signal in
        ending = .killed(signal: signal)
        loop.stop()
      },
      fail: { [unowned self] in fail($0) })
    screen = try TerminalScreen(output, on: loop, handlers)
    draw(terminal, units)
  }

  private func fail(_ error: any Error) {
    failure = failure ?? error
    loop.stop()
  }

  private func tick() {
    do {
      figures = try sampler?.sample(over: links) ?? figures
      try print()
    } catch {
      return fail(error)
    }
    if isOnce || output.isReaderGone { return loop.stop() }
    // The next look stays in step with the earlier ones. Looks that were missed are skipped.
    while nextLook <= loop.now { nextLook += Self.interval }
    timer.set(at: nextLook)
  }

  private func print() throws(PlainError) {
    switch form {
    case .json:
      line.removeAll()
      line.append(figures, by: grouping, nanosecondsSince1970: KernelClock.wall.nanoseconds)
      try line.withBytes { bytes throws(PlainError) in try output.write(bytes) }
    case .text(let terminal, let units) where screen != nil: draw(terminal, units)
    case .text(let terminal, let units):
      let lines = table(on: terminal, units).lines(figures, by: order)
      try output.write(lines.joined(separator: "\n") + (isOnce ? "\n" : "\n\n"))
    }
  }

  private func table(on terminal: Terminal, _ units: TrafficUnits) -> ProgramTable {
    ProgramTable(
      units, by: grouping, width: terminal.columns, usesColor: terminal.usesColor, isUnicode: terminal.isUnicode)
  }

  private func draw(_ terminal: Terminal, _ units: TrafficUnits) {
    terminal.measure()
    let table = table(on: terminal, units)
    // If there are few lines, the figures are more important than the keys.
    let keys = terminal.rows < Self.fewLines ? [] : [table.keys(order)]
    do throws(PlainError) {
      try screen?.show(table.lines(figures, by: order, height: terminal.rows - keys.count) + keys)
    } catch {
      fail(error)
    }
  }
}
