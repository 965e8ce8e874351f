import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// The machine's state as a service reports it.
///
/// It belongs to one loop and its thread. If there is no service, nothing comes until one starts.
final class RemoteStatus {
  private let loop: EventLoop
  private let options: StatusOptions
  private let emit: (_ record: EventRecord, _ sharesNetwork: Bool) -> Void
  private let lost: () -> Void
  private var link: ServiceLink?
  /// What the service is used for.
  private(set) var use = ServiceUse.nothing
  private var hasHinted = false

  /// Creates a status that asks no service yet.
  ///
  /// - Parameters:
  ///   - emit: The closure that gets each record of a service, and whether that is on the network of this process.
  ///   - lost: The closure that is called when the connection to a service is lost.
  init(
    _ options: StatusOptions, on loop: EventLoop,
    emit: @escaping (_ record: EventRecord, _ sharesNetwork: Bool) -> Void, lost: @escaping () -> Void
  ) {
    self.options = options
    self.loop = loop
    self.emit = emit
    self.lost = lost
  }

  var isConnected: Bool { link?.isConnected ?? false }

  /// The requests of this program. The service counts them.
  var requests = RunningRequests() { didSet { link?.requests = requests } }

  /// Connects to a service if there is one, and uses it for this from now on. A connection for another use ends.
  func connect(for use: ServiceUse) {
    self.use = use
    link = nil
    if case .nothing = use { return }
    let link = ServiceLink(on: loop, record: { [unowned self] in take($0) }, lost: { [unowned self] in lost() })
    if case .everything = use {
      link.trafficInterval = options.trafficInterval
      link.signalChanges = options.configuration.wifi.signal
      link.wantsQuality = options.tellsQuality
    }
    link.requests = requests
    self.link = link
    link.connect()
  }

  /// Waits from now on for a service that starts or comes back.
  func waitForService() { link?.waitForService() }

  private func take(_ record: EventRecord) {
    if record.event == .initial || record.event == .reachability || record.event == .activity { hint(record.activity) }
    emit(record, link?.sharesNetwork == true)
  }

  private func hint(_ activity: EventRecord.Activity) {
    guard !hasHinted, let sentence = options.activity.hint(besideService: activity) else { return }
    hasHinted = true
    options.warn(sentence)
  }

  /// Returns the labels of the service's requests that this user may see. Waits at most `patience` for the response.
  func labels(within patience: Duration) -> [NamedCount] {
    guard isConnected else { return [] }
    return ServiceStatistics.ofRunningService(within: patience)?.labels ?? []
  }

  /// Ends the connection.
  func stop() { link = nil }
}
