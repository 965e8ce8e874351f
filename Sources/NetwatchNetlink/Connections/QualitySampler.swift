import Netwatch
import NetwatchEventLoop

/// Samples the TCP connections that leave over a link, for a ``QualityMeter``. Sends nothing over the network, and needs no
/// privilege.
///
/// The sampler belongs to the thread of its loop. There is a timer only between ``setTimer()`` and ``stop()``.
package final class QualitySampler {
  private let loop: EventLoop
  private let input: NetlinkInput
  private let isDue: () -> Void
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in isDue() }
  private var meter = QualityMeter()
  /// The scan; opened at the first look.
  private var scan: ConnectionScan?
  /// The last error of listing connections; nil if there was none.
  package private(set) var failure: SystemError?

  /// Creates a sampler without a timer.
  ///
  /// - Parameters:
  ///   - input: The source of the connections. A recording stores them without addresses. A replay has no timer, because the
  ///     trace determines when to look.
  ///   - isDue: The closure that is called when it is time for the next look.
  package init(on loop: EventLoop, of input: NetlinkInput = .kernel, isDue: @escaping () -> Void) {
    self.loop = loop
    self.input = input
    self.isDue = isDue
  }

  /// Sets the timer for the next look.
  package func setTimer() {
    try? input.follow { timer.set(forNextTickEvery: QualityMeter.interval) }
  }

  /// Stops the timer and forgets what was counted.
  package func stop() {
    timer.stop()
    meter = QualityMeter()
  }

  /// Stops the timer, because the link has joined another network or another link carries the path.
  package func forget() {
    timer.stop()
    meter.forget()
  }

  /// Returns the current figures and their time. The figures are nil if the kernel does not list all connections.
  ///
  /// - Parameters:
  ///   - link: The link that carries the path.
  ///   - addresses: The addresses of the link. Connections from other addresses do not count.
  package func look(
    over link: (index: Int32, name: InterfaceName), from addresses: Set<IPAddress>
  ) -> (figures: LinkQuality?, moment: Moment) {
    let moment = input.moment(.quality)
    guard let connections = input.connections({ list(from: addresses) }) else { return (nil, moment) }
    let look = QualityMeter.Look(
      over: link, at: .nanoseconds(moment.monotonic), suspendedTime: .nanoseconds(moment.suspended), connections)
    return (meter.handle(look), moment)
  }

  private func list(from addresses: Set<IPAddress>) -> [ConnectionFacts]? {
    var connections: [ConnectionFacts] = []
    do throws(SystemError) {
      let scan = if let scan { scan } else { try ConnectionScan() }
      self.scan = scan
      let isWhole = try scan.readAll { connection in
        guard connection.facts.stage != .connecting, addresses.contains(connection.local) else { return }
        connections.append(connection.facts)
      }
      return isWhole ? connections : nil
    } catch {
      failure = error
      return nil
    }
  }
}
