import Netwatch
import NetwatchEventLoop

/// Samples the quality of the link that carries a path, from the TCP connections that leave over it. Sends nothing over the
/// network, and needs no privilege.
///
/// The sampler belongs to the thread of its loop. There is a timer only between ``follow(_:)`` and ``stop()``.
package final class QualitySampler {
  /// The figures of the last sample; nil if they are not known.
  package private(set) var figures: LinkQuality?
  private let loop: EventLoop
  private let input: KernelInterface
  private let list: (Set<InternetAddress>) throws(SystemError) -> [ConnectionFacts]?
  private let addresses: () -> Set<InternetAddress>?
  private let warn: (_ sentence: String) -> Void
  private let emit: (LinkQuality, EventTimestamp) -> Void
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in sample() }
  private var meter = QualityMeter()
  /// The verdict of the path whose link was sampled last; nil before the first sample.
  private var verdict: NetworkPath.Verdict?
  private var isRunning = false
  /// The time of the last sample, on the clock of the loop.
  private var lastTime: Duration?
  private var hasWarned = false

  /// Creates a sampler that follows no path yet.
  ///
  /// - Parameters:
  ///   - input: The source of the connections. A recording stores them without addresses. A replay has no timer, because the
  ///     trace determines when to call ``sample()``.
  ///   - list: The closure that lists the connections from these addresses; nil if the kernel does not list all. Default: nil,
  ///     the kernel is asked.
  ///   - addresses: The closure that returns the addresses that traffic leaves from. Nil if they are not known; then no
  ///     connection counts.
  ///   - warn: The closure that gets a sentence for people if connections cannot be listed.
  ///   - emit: The closure that gets the figures of each sample after the first.
  package init(
    on loop: EventLoop, of input: KernelInterface = .kernel,
    listing list: ((Set<InternetAddress>) throws(SystemError) -> [ConnectionFacts]?)? = nil,
    addresses: @escaping () -> Set<InternetAddress>?, warn: @escaping (_ sentence: String) -> Void,
    emit: @escaping (LinkQuality, EventTimestamp) -> Void
  ) {
    self.loop = loop
    self.input = input
    self.list = list ?? ConnectionScan.lister()
    self.addresses = addresses
    self.warn = warn
    self.emit = emit
  }

  /// Samples the link of a path now and from now on. If the path has not changed, or the last sample is younger than an interval,
  /// the next sample comes when it is due.
  package func follow(_ path: NetworkPath) {
    let wasRunning = isRunning
    isRunning = path.carrier != nil
    if path.verdict == verdict {
      if wasRunning { return }
      if let lastTime, loop.now - lastTime < QualityMeter.interval { return setTimer() }
      meter = QualityMeter()
    } else if verdict != nil {
      // The counters are not about the new path.
      meter.forget()
    }
    verdict = path.verdict
    figures = nil
    timer.stop()
    guard isRunning else { return }
    _ = takeSample(from: path.localAddresses)
    setTimer()
  }

  /// Samples now, because it is time or a replay has come to a sample.
  package func sample() {
    guard let moment = takeSample(from: addresses() ?? []) else { return }
    if let figures { emit(figures, moment) }
    setTimer()
  }

  /// Stops the timer.
  package func stop() {
    isRunning = false
    timer.stop()
  }

  private func setTimer() {
    guard isRunning else { return }
    try? input.follow { timer.set(forNextTickEvery: QualityMeter.interval) }
  }

  /// Takes a sample and returns its time. Nil if no link carries the path.
  private func takeSample(from addresses: Set<InternetAddress>) -> EventTimestamp? {
    guard let link = verdict?.carrier else { return nil }
    lastTime = loop.now
    let moment = input.moment(.quality)
    guard let connections = input.connections({ connections(from: addresses) }) else { return moment }
    let look = QualityMeter.Look(
      over: link, at: .nanoseconds(moment.monotonic), suspendedTime: .nanoseconds(moment.suspended), connections)
    figures = meter.handle(look)
    return moment
  }

  private func connections(from addresses: Set<InternetAddress>) -> [ConnectionFacts]? {
    do throws(SystemError) {
      return try list(addresses)
    } catch {
      if !hasWarned { warn("TCP connections are not listed, so the quality of the link is not known: \(error)") }
      hasWarned = true
      return nil
    }
  }
}

extension ConnectionScan {
  /// Returns a closure that lists the connections from some addresses; nil if the kernel does not list all. Its socket is opened
  /// when it is called first.
  fileprivate static func lister() -> (Set<InternetAddress>) throws(SystemError) -> [ConnectionFacts]? {
    var opened: ConnectionScan?
    return { addresses throws(SystemError) in
      let scan = if let opened { opened } else { try ConnectionScan() }
      opened = scan
      var connections: [ConnectionFacts] = []
      let isWhole = try scan.readAll { connection in
        guard connection.facts.stage != .connecting, addresses.contains(connection.local) else { return }
        connections.append(connection.facts)
      }
      return isWhole ? connections : nil
    }
  }
}
