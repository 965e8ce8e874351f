import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// The figures in lines: the traffic of links, the quality of the link that carries the path, and the stages of the way to the
/// internet. Traffic and quality are sampled here, or by a service that samples for all its clients.
///
/// If no figures are wanted, nothing is created for them.
final class Figures {
  private let countsAll: Bool
  private let tellsQuality: Bool
  private let emit: (EventRecord.Event, EventTimestamp) -> Void
  private var trafficSampler: TrafficSampler?
  private var qualitySampler: QualitySampler?
  private var stageWatch: StageWatch?
  private var traffic: [LinkTraffic] = []
  /// The indices of the links that carry the path, as they are sampled here.
  private var carriers: Set<Int32> = []
  /// The time of the last sample of traffic here.
  private var trafficTime: EventTimestamp?
  /// The interval of traffic; zero if it is not wanted.
  private let interval: Duration
  /// The quality as a service has sampled it, and for which path; nil if it is sampled here.
  private var servedQuality: (figures: LinkQuality?, verdict: NetworkPath.Verdict)?
  private var qualityNews = QualityNews()
  /// Whether a service samples the traffic. A service that is older than this program sends none, and is not waited for.
  private var isTrafficServed = false

  /// Creates the samplers that the options ask for.
  ///
  /// - Parameters:
  ///   - addresses: The closure that returns the addresses that traffic leaves from.
  ///   - emit: The closure that is called when there are new figures, with their event and time.
  /// - Throws: A `SystemError` if the kernel refuses a socket.
  init(
    _ options: StatusOptions, on loop: EventLoop, addresses: @escaping () -> Set<InternetAddress>?,
    emit: @escaping (EventRecord.Event, EventTimestamp) -> Void
  ) throws(SystemError) {
    countsAll = options.listsInterfaces
    tellsQuality = options.tellsQuality
    interval = options.trafficInterval ?? .zero
    self.emit = emit
    if let interval = options.trafficInterval {
      trafficSampler = try TrafficSampler(on: loop, of: options.input) { [unowned self] _, traffic, moment in
        trafficTime = moment
        publish(marked(traffic), at: moment)
      }
      trafficSampler?.setIntervals([interval])
    }
    if tellsQuality {
      qualitySampler = QualitySampler(on: loop, of: options.input, addresses: addresses, warn: options.warn) {
        [unowned self] quality, moment in
        if qualityNews.take(quality, at: .nanoseconds(moment.monotonic)) { emit(.quality, moment) }
      }
    }
    if options.tellsStages {
      stageWatch = try StageWatch(
        on: loop, probing: options.probe?.host, includes: options.configuration.includesInterface,
        nudges: options.nudgesGateway, tellsEach: options.tellsEachStage
      ) { emit(.stages, $0) }
    }
  }

  /// The closure that samples the traffic in a replay; nil if traffic is not sampled.
  var sampleTraffic: (() -> Void)? { trafficSampler.map { sampler in { sampler.sample() } } }
  /// The closure that samples the quality in a replay; nil if quality is not sampled.
  var sampleQuality: (() -> Void)? { qualitySampler.map { sampler in { sampler.sample() } } }

  /// Samples the links of this record's path from now on.
  func follow(_ record: EventRecord) {
    followTraffic(of: record.path)
    if let verdict = servedQuality?.verdict {
      if verdict != record.path.verdict { servedQuality = (nil, record.path.verdict) }
    } else {
      qualitySampler?.follow(record.path)
    }
    stageWatch?.follow(record.path, record.internet)
  }

  /// Samples the links that carry a path from now on.
  func followTraffic(of path: NetworkPath) {
    guard let trafficSampler, !isTrafficServed else { return }
    carriers = Set(path.carriers.map(\.index))
    traffic = marked(traffic)
    trafficSampler.count(countsAll ? path.links.map { ($0.index, $0.kernelName) } : path.carriers)
  }

  private func marked(_ traffic: [LinkTraffic]) -> [LinkTraffic] {
    traffic.map { link in
      var link = link
      link.carriesPath = carriers.contains(link.interfaceIndex)
      return link
    }
  }

  private func publish(_ traffic: [LinkTraffic], at moment: EventTimestamp) {
    self.traffic = traffic
    emit(.traffic, moment)
  }

  /// Puts the newest figures into the record.
  func set(_ record: inout EventRecord) {
    record.traffic = trafficSampler == nil ? nil : traffic
    record.quality = if let servedQuality { servedQuality.figures } else { qualitySampler?.figures }
    record.tellsQuality = tellsQuality
    record.stages = stageWatch?.stages
  }

  /// Notes that links have changed, but not the path.
  func linksChanged(_ path: NetworkPath, at moment: EventTimestamp) {
    followTraffic(of: path)
    stageWatch?.linksChanged(path, at: moment)
  }

  // MARK: Stages

  /// Probes with another name from now on; nil if the probe needs no address.
  func probe(_ host: HostName?) { stageWatch?.host = host }

  /// Has the kernel report changes of the configuration of name servers.
  func watchFiles() { stageWatch?.watchConfiguration() }

  /// Notes that a probe of the internet begins.
  func probeBegins() { stageWatch?.probeBegins() }

  /// Whether an answer of the name servers is still to come.
  var isAsking: Bool { stageWatch?.isAsking ?? false }

  /// Calls `body` when the name servers have answered, or have not in time.
  func onAnswer(_ body: @escaping () -> Void) { stageWatch?.answered = body }

  // MARK: A service

  /// Takes the figures of a service, in a record of the event `traffic` or `quality`. Figures of a link that does not carry the
  /// path are ignored, because they come before or after a change.
  ///
  /// - Parameter path: The path that was reported last.
  func receive(_ record: EventRecord, over path: NetworkPath?) {
    if let traffic = record.traffic, path?.interfaceIndex == record.path.interfaceIndex {
      isTrafficServed = true
      trafficSampler?.stop()
      let now = EventTimestamp.now
      // The service samples at the same times as the sampler here. So its first figures may be of a tick that already has its
      // line.
      if let trafficTime, .nanoseconds(now.monotonic - trafficTime.monotonic) < interval / 2 { return }
      publish(traffic, at: now)
    }
    if let path, let quality = record.carrierQuality, quality.isOf(path.carrier) {
      qualitySampler?.stop()
      servedQuality = (quality, path.verdict)
      emit(.quality, .now)
    }
  }

  /// Samples here again, because the service is gone.
  func serviceWasLost(_ path: NetworkPath?) {
    isTrafficServed = false
    servedQuality = nil
    qualitySampler?.stop()
    qualityNews = QualityNews()
    guard let path else { return }
    followTraffic(of: path)
    qualitySampler?.follow(path)
  }

  func stop() {
    trafficSampler?.stop()
    qualitySampler?.stop()
    stageWatch?.stop()
  }
}
