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
  private var source: LineSource?
  private var lines = 0
  /// Whether the last line says that there is a way out, and, where that is probed, that the internet answers.
  private(set) var isOnline = false

  /// - Parameters:
  ///   - renderer: what the lines look like.
  ///   - count: how many lines to print; nil for no end.
  ///   - hooks: what runs for each line; nil for nothing.
  ///   - namesPrograms: whether lines name the programs whose connections are in flight.
  init(
    _ options: LineSource.Options, renderer: any LineRenderer, count: Int? = nil,
    hooks: HookSettings? = nil, namesPrograms: Bool = false
  ) throws {
    self.renderer = renderer
    self.count = count
    output = try StandardOutput()
    loop = try EventLoop()
    self.hooks = try hooks.map { [loop] in try HookRunner($0, on: loop) }
    let source = try LineSource(options, on: loop) { [unowned self] record in print(record) }
    self.source = source
    try output.whenReaderGoes(on: loop) { [unowned source] in source.finish() }
    try renderer.prepare(on: loop)
    renderer.onFailure { [unowned source] error in source.fail(error) }
    renderer.nameRequests { [unowned source] record in source.labels(of: record) }
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
    try hooks?.finish()
  }

  private func print(_ record: EventRecord) {
    if renderer.shows(record) { lines += 1 }
    isOnline = record.path.verdict.status.isReachable && record.internet?.isFull ?? true
    do throws(PlainError) {
      try renderer.print(record, to: output)
      // A command each second is not what its author meant.
      if record.event != .traffic { hooks?.run(record) }
    } catch {
      source?.fail(error)
    }
    if output.isReaderGone || lines >= count ?? .max { source?.finish() }
  }
}
