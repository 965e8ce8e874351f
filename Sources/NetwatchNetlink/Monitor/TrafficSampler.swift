import Netwatch
import NetwatchEventLoop

/// Reads the counters of links at whole multiples of one or more intervals of the monotonic clock.
///
/// All ticks are at whole tenths of a second. Intervals that end at the same time share a sample, so the kernel is asked at most
/// ten times a second.
///
/// The sampler belongs to the thread of its loop. There is a timer only while there are links and intervals.
package final class TrafficSampler {
  package typealias Link = (index: Int32, name: InterfaceName)

  /// The shortest interval. At shorter ones, the figures would show the traffic of reading them.
  package static let shortestInterval = Duration.milliseconds(100)

  /// The rates over one interval.
  private struct Measurement {
    /// The time of the next tick.
    var tick = Duration.zero
    /// The meter of each link, by its index.
    var meters: [Int32: TrafficMeter] = [:]

    /// Returns the measurement without the links that are not among these.
    func keeping(_ links: Set<Int32>) -> Measurement {
      Measurement(tick: tick, meters: meters.filter { links.contains($0.key) })
    }

    mutating func figures(at samples: [TrafficMeter.Sample]) -> [LinkTraffic] {
      samples.map { meters[$0.traffic.interfaceIndex, default: TrafficMeter()].handle($0) }
    }
  }

  private let loop: EventLoop
  private let input: KernelInterface
  private let read: (Link, EventTimestamp) -> TrafficMeter.Sample?
  private let emit: (_ interval: Duration, [LinkTraffic], EventTimestamp) -> Void
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in tick() }
  private var links: [Link] = []
  private var measurements: [Duration: Measurement] = [:]
  /// The last samples, and their time on the clock of the loop.
  private var newest: (samples: [TrafficMeter.Sample], time: Duration)?

  /// Creates a sampler without links and intervals.
  ///
  /// - Parameters:
  ///   - input: The source of times. A recording stores the samples. A replay has no timer, because the trace determines when to
  ///     call ``sample()``.
  ///   - read: The closure that reads the counters of a link; nil if the link does not exist.
  ///   - emit: The closure that gets the figures of all links, once in each interval. It gets the interval as it was set, so that
  ///     the receiver knows whom the figures are for.
  package init(
    on loop: EventLoop, of input: KernelInterface = .kernel,
    reading read: @escaping (_ link: Link, EventTimestamp) -> TrafficMeter.Sample?,
    emit: @escaping (_ interval: Duration, [LinkTraffic], EventTimestamp) -> Void
  ) {
    self.loop = loop
    self.input = input
    self.read = read
    self.emit = emit
  }

  /// Creates a sampler of the kernel's counters, or of those that `input` replays, without links and intervals.
  ///
  /// - Throws: A `SystemError` if the socket cannot be opened.
  package convenience init(
    on loop: EventLoop, of input: KernelInterface = .kernel,
    emit: @escaping (_ interval: Duration, [LinkTraffic], EventTimestamp) -> Void
  ) throws(SystemError) {
    let counters = try LinkCounters(of: input)
    self.init(on: loop, of: input, reading: { counters.sample($0.index, $0.name, at: $1) }, emit: emit)
  }

  /// Counts these links from now on, and no others. The first rates of a link are known at the next tick.
  package func count(_ links: [Link]) {
    let isFirst = self.links.isEmpty
    self.links = links
    let indices = Set(links.map(\.index))
    measurements = measurements.mapValues { $0.keeping(indices) }
    guard isFirst, !links.isEmpty else { return setTimer() }
    begin(Array(measurements.keys), from: takeSamples(at: input.moment(.sampling)))
  }

  /// Sets the intervals that are wanted from now on. Each is at least ``shortestInterval``.
  package func setIntervals(_ intervals: Set<Duration>) {
    let wanted = Set(intervals.map { max($0, Self.shortestInterval) })
    measurements = measurements.filter { wanted.contains($0.key) }
    let new = wanted.filter { measurements[$0] == nil }
    for interval in new { measurements[interval] = Measurement() }
    guard !new.isEmpty, !links.isEmpty else { return setTimer() }
    // A new interval that begins soon after a sample costs no question to the kernel.
    let recent = newest.flatMap { loop.now - $0.time < Self.shortestInterval ? $0.samples : nil }
    begin(Array(new), from: recent ?? takeSamples(at: input.moment(.sampling)))
  }

  /// Stops counting, and stops the timer.
  package func stop() {
    links = []
    timer.stop()
  }

  /// Reads the counters and passes the figures of every interval to the closure, because a replay has come to a sample.
  package func sample() { sample(for: Array(measurements.keys)) }

  private func tick() {
    let now = loop.now
    let due = measurements.filter { $0.value.tick <= now }.keys
    for interval in due { measurements[interval]?.tick = nextSample(every: interval) }
    sample(for: Array(due))
    setTimer()
  }

  private func sample(for intervals: [Duration]) {
    let moment = input.moment(.sampling)
    let samples = takeSamples(at: moment)
    for interval in intervals {
      guard let figures = measurements[interval]?.figures(at: samples) else { continue }
      emit(interval, figures, moment)
    }
  }

  /// The rates over these intervals count from the samples on.
  private func begin(_ intervals: [Duration], from samples: [TrafficMeter.Sample]) {
    for interval in intervals {
      _ = measurements[interval]?.figures(at: samples)
      measurements[interval]?.tick = nextSample(every: interval)
    }
    setTimer()
  }

  private func takeSamples(at moment: EventTimestamp) -> [TrafficMeter.Sample] {
    // The loss of a link is reported by a path.
    let samples = links.compactMap { read($0, moment) }
    newest = (samples, loop.now)
    return samples
  }

  /// Returns the next tick of an interval, or the first whole tenth of a second after it.
  private func nextSample(every interval: Duration) -> Duration {
    let tick = loop.now.nextTick(every: interval)
    let early = Duration(attoseconds: tick.attoseconds % Self.shortestInterval.attoseconds)
    return early == .zero ? tick : tick - early + Self.shortestInterval
  }

  private func setTimer() {
    let next = links.isEmpty ? nil : measurements.values.map(\.tick).min()
    try? input.follow { timer.set(at: next) }
  }
}
