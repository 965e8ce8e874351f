import Netwatch
import NetwatchEventLoop

/// Runs a ``WiFiMachine`` on the driver: reads the signal while it was asked for, and reports roaming.
///
/// The watch belongs to the thread of its loop. There is a timer only while a WiFi network carries the path and changes of its
/// signal were asked for.
final class WiFiWatch {
  /// The time between two samples of the signal. A bar never shows a signal that is older than twice this.
  private static let interval = Duration.seconds(5)

  private let loop: EventLoop
  private let input: KernelInterface
  private let read: (_ radio: Int32, _ hasFrequency: Bool) -> WiFiConnection?
  private var machine = WiFiMachine()
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in isDue() }
  /// The radio of the network that carries the path.
  private var radio: Int32?
  /// The values that were asked for.
  var reporting: WiFiReporting {
    didSet {
      machine.signalChanges = reporting.signal
      if !reporting.isWanted { stop() }
    }
  }
  /// The closure that gets the values to publish, and the reason.
  var emit: (WiFiConnection, ReachabilityReason) -> Void = { _, _ in }

  /// The closure that is called when it is time for ``sample(at:)``.
  var isDue: () -> Void = {}

  /// Creates a watch without a timer.
  ///
  /// - Parameters:
  ///   - input: The source of the values. A replay has no timer, because the trace determines when to sample.
  ///   - reporting: The values that were asked for.
  ///   - read: The closure that asks the driver.
  init(
    on loop: EventLoop, of input: KernelInterface, _ reporting: WiFiReporting,
    read: @escaping (_ radio: Int32, _ hasFrequency: Bool) -> WiFiConnection?
  ) {
    self.loop = loop
    self.input = input
    self.reporting = reporting
    self.read = read
    machine.signalChanges = reporting.signal
  }

  /// Returns the current values of the connection, as far as they were asked for.
  func connection(of radio: Int32) -> WiFiConnection? {
    read(radio, reporting.includesDetails)
  }

  func handle(_ event: WiFiMachine.Event, at moment: EventTimestamp) {
    guard reporting.isWanted else { return }
    if case .published(let association, _) = event { radio = association?.radio }
    for news in machine.handle(event, at: .nanoseconds(moment.monotonic)) { emit(news.connection, news.reason) }
    setTimer()
  }

  /// Handles what nl80211 has reported, in order; nil if messages may be missing.
  func hear(of joined: [(WiFiMachine.Association, accessPoint: UInt64)]?, at moment: EventTimestamp) {
    guard reporting.isWanted else { return }
    guard let joined else {
      handle(.associationsLost, at: moment)
      return sample(at: moment)
    }
    for (association, accessPoint) in joined {
      handle(.associated(association, accessPoint: accessPoint, connection(of: association.radio)), at: moment)
    }
  }

  /// Asks the driver, and reports changes.
  func sample(at moment: EventTimestamp) { handle(.sampled(radio.flatMap { connection(of: $0) }), at: moment) }

  private func setTimer() {
    try? input.follow {
      if !machine.isSampling {
        timer.set(at: machine.deadline)
      } else if timer.deadline == nil {
        timer.set(forNextTickEvery: Self.interval)
      }
    }
  }

  func stop() {
    radio = nil
    // From now on there is nothing to sample.
    machine = WiFiMachine()
    machine.signalChanges = reporting.signal
    timer.stop()
  }
}
