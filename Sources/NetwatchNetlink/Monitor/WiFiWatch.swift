import Netwatch
import NetwatchEventLoop

/// Runs a ``WiFiMachine`` on the driver: reads the signal while somebody wants to know it, and tells of roams.
///
/// Belongs to its loop. There is a timer only while a WiFi network carries the traffic and changes of its signal
/// were asked for.
final class WiFiWatch {
  /// Between two looks at the signal. A bar shows no signal that is older than twice this.
  private static let interval = Duration.seconds(5)

  private let loop: EventLoop
  private let input: NetlinkInput
  private let read: (_ radio: Int32, _ hasFrequency: Bool) -> WiFiConnection?
  private var machine = WiFiMachine()
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in isDue() }
  /// The radio of the network that carries the traffic.
  private var radio: Int32?
  /// What was asked for.
  var reporting: WiFiReporting {
    didSet {
      machine.signalChanges = reporting.signal
      if !reporting.isWanted { stop() }
    }
  }
  /// Called with what has to be published, and why.
  var tell: (WiFiConnection, ReachabilityReason) -> Void = { _, _ in }

  /// It is time to ``sample(at:)``.
  var isDue: () -> Void = {}

  /// - Parameters:
  ///   - input: a replay has no timer: it says when to sample.
  ///   - read: asks the driver.
  init(
    on loop: EventLoop, of input: NetlinkInput, _ reporting: WiFiReporting,
    read: @escaping (_ radio: Int32, _ hasFrequency: Bool) -> WiFiConnection?
  ) {
    self.loop = loop
    self.input = input
    self.reporting = reporting
    self.read = read
    machine.signalChanges = reporting.signal
  }

  /// As it is now, with whatever was asked for.
  func connection(of radio: Int32) -> WiFiConnection? {
    read(radio, reporting.includesDetails)
  }

  func handle(_ event: WiFiMachine.Event, at moment: Moment) {
    guard reporting.isWanted else { return }
    if case .published(let association, _) = event { radio = association?.radio }
    for news in machine.handle(event, at: .nanoseconds(moment.monotonic)) { tell(news.connection, news.reason) }
    if machine.isSampling { setTimer() } else { timer.stop() }
  }

  /// What nl80211 has told, in order; nil if something may be missing.
  func hear(of joined: [(WiFiMachine.Association, accessPoint: UInt64)]?, at moment: Moment) {
    guard reporting.isWanted else { return }
    guard let joined else {
      handle(.associationsLost, at: moment)
      return sample(at: moment)
    }
    for (association, accessPoint) in joined {
      handle(.associated(association, accessPoint: accessPoint, connection(of: association.radio)), at: moment)
    }
  }

  /// Asks the driver, and tells what has changed.
  func sample(at moment: Moment) { handle(.sampled(radio.flatMap { connection(of: $0) }), at: moment) }

  private func setTimer() {
    guard timer.deadline == nil else { return }
    try? input.follow { timer.set(forNextTickEvery: Self.interval) }
  }

  func stop() {
    radio = nil
    // From here on there is nothing to sample.
    machine = WiFiMachine()
    machine.signalChanges = reporting.signal
    timer.stop()
  }
}
