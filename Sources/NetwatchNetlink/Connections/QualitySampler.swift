import Netwatch
import NetwatchEventLoop

/// Looks at the TCP connections that leave over a link, for a ``QualityMeter``. Sends nothing over the network, and needs no
/// privilege.
///
/// Belongs to its loop. There is a timer only between ``setTimer()`` and ``stop()``.
package final class QualitySampler {
  private let loop: EventLoop
  private let input: NetlinkInput
  private let isDue: () -> Void
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in isDue() }
  private var meter = QualityMeter()
  /// Opened at the first look.
  private var scan: ConnectionScan?
  /// Why the kernel does not list connections; nil if it does.
  package private(set) var failure: NetlinkError?

  /// - Parameters:
  ///   - input: a recording holds what the looks have found, without any address. Of a replay there is no timer: it says when
  ///     to look.
  ///   - isDue: called when it is time for the next look.
  package init(on loop: EventLoop, of input: NetlinkInput = .kernel, isDue: @escaping () -> Void) {
    self.loop = loop
    self.input = input
    self.isDue = isDue
  }

  /// Makes the next look due.
  package func setTimer() {
    try? input.follow { timer.set(forNextTickEvery: QualityMeter.interval) }
  }

  /// No look is due any more. What was counted until now is forgotten.
  package func stop() {
    timer.stop()
    meter = QualityMeter()
  }

  /// The link has joined another network, or another link carries the traffic. No look is due any more.
  package func forget() {
    timer.stop()
    meter.forget()
  }

  /// The figures now, and when that is; nil instead of figures if the kernel does not list all connections.
  ///
  /// - Parameter addresses: those of the link.
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
    do throws(NetlinkError) {
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
