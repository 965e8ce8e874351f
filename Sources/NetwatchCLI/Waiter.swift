import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Watches until the path is as wanted or time is up, then prints it.
final class Waiter {
  private let configuration: MonitorConfiguration
  private let renderer: (any LineRenderer)?
  private let timeout: Duration?
  private let probe: ProbeSettings?
  private let saysWhatIsMissing: Bool
  private let isMet: (NetworkPath) -> Bool
  private var last: EventRecord?
  private var published: UInt64 = 0
  private var probes: ProbeRunner?
  private var failure: (any Error)?

  /// - Parameters:
  ///   - renderer: how the line looks; nil prints nothing.
  ///   - timeout: nil waits for ever.
  ///   - probe: asks whether the internet is there, which then it has to be; nil asks nobody.
  init(
    configuration: MonitorConfiguration, renderer: (any LineRenderer)?, timeout: Duration?,
    probe: ProbeSettings? = nil, saysWhatIsMissing: Bool, isMet: @escaping (NetworkPath) -> Bool
  ) {
    self.configuration = configuration
    self.renderer = renderer
    self.timeout = timeout
    self.probe = probe
    self.saysWhatIsMissing = saysWhatIsMissing
    self.isMet = isMet
  }

  /// - Returns: false if the time was up first.
  func run() throws -> Bool {
    let output = renderer == nil ? nil : try StandardOutput()
    let loop = try EventLoop()
    let start = KernelClock.monotonic.now
    probes = try probe.map { try startProbes($0, on: loop) }
    defer { probes?.stop() }
    let reachability = try NetlinkReachability(
      on: NetlinkSource(on: loop), configuration: configuration,
      handlers: .init(
        publish: { [unowned self, unowned loop] path, change, moment in
          published += 1
          last = EventRecord(
            sequence: published, nanosecondsSince1970: moment.wall, monotonicNanoseconds: moment.monotonic,
            event: .init(change), path: path)
          if case .interfaces = change {} else { probes?.pathChanged(path) }
          last?.internet = probes?.internet
          if isDone { loop.stop() }
        },
        fail: { [unowned self, unowned loop] error in
          failure = error
          loop.stop()
        }))
    try reachability.start()
    if saysWhatIsMissing { reachability.reportMissingFeatures() }
    if !isDone {
      if let timeout { loop.schedule(at: start + timeout) { [unowned loop] in loop.stop() } }
      try loop.run()
    }
    if let failure { throw failure }
    if let last, let output { try renderer?.print(last, to: output) }
    return isDone
  }

  private func startProbes(_ settings: ProbeSettings, on loop: EventLoop) throws -> ProbeRunner {
    try ProbeRunner(
      settings, on: loop, ChildEndings(on: loop),
      handlers: .init(
        answered: { [unowned self, unowned loop] _ in
          last?.internet = probes?.internet
          if isDone { loop.stop() }
        },
        failed: { [unowned self, unowned loop] error in
          failure = error
          loop.stop()
        }))
  }

  private var isDone: Bool { last.map { isMet($0.path) && $0.internet?.isFull ?? true } ?? false }
}
