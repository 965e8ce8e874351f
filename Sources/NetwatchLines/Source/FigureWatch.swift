import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// The figures in lines: the traffic of links, the quality of the link that carries the path, and the first failing stage. If
/// no figures are wanted, nothing is created for them.
final class FigureWatch {
  private var traffic: TrafficWatch?
  private var quality: QualityWatch?
  private var stages: StageWatch?
  private let tellsQuality: Bool
  private let makeQuality: () -> QualityWatch

  /// Creates the watches for the figures that the options ask for.
  ///
  /// - Parameters:
  ///   - addresses: The closure that returns the addresses that traffic leaves from.
  ///   - tell: The closure that is called when there are new figures, with their event and time.
  init(
    _ options: LineSource.Options, on loop: EventLoop, addresses: @escaping () -> Set<IPAddress>?,
    tell: @escaping (EventRecord.Event, Moment) -> Void
  ) throws {
    tellsQuality = options.tellsQuality
    makeQuality = {
      QualityWatch(on: loop, of: options.input, say: options.say, addresses: addresses) { tell(.quality, $0) }
    }
    if let interval = options.trafficInterval {
      traffic = try TrafficWatch(
        on: loop, of: options.input, every: interval, countsAll: options.listsInterfaces
      ) { tell(.traffic, $0) }
    }
    if tellsQuality { quality = makeQuality() }
    if options.tellsStages {
      stages = try StageWatch(
        on: loop, probing: options.probe?.host, includes: options.configuration.includesInterface,
        nudges: options.nudgesGateway, tellsEach: options.tellsEachStage
      ) { tell(.stages, $0) }
    }
  }

  /// Whether lines have figures or stages.
  var areWanted: Bool { traffic != nil || tellsQuality || stages != nil }
  /// The closure that samples the traffic in a replay; nil if traffic is not sampled.
  var sample: (() -> Void)? { traffic.map { traffic in { traffic.sample() } } }
  /// The closure that samples the quality in a replay; nil if quality is not sampled.
  var look: (() -> Void)? { quality.map { quality in { quality.look() } } }

  /// Watches the links of this record's path from now on.
  func follow(_ record: EventRecord) {
    traffic?.follow(record.path)
    quality?.follow(record.path)
    stages?.follow(record.path, record.internet)
  }

  /// Passes on a change of links without a change of the path.
  func linksChanged(_ path: NetworkPath, at moment: Moment) { stages?.linksChanged(path, at: moment) }

  /// Probes with another name from now on; nil if the probe needs no address.
  func probe(_ host: HostName?) { stages?.host = host }

  /// Has the kernel report changes of the configuration of name servers.
  func watchFiles() { stages?.watchConfiguration() }

  /// Notes that a probe of the internet begins.
  func probeBegins() { stages?.probeBegins() }

  /// Puts the newest figures into the record.
  func set(_ record: inout EventRecord) {
    record.traffic = traffic?.figures
    record.quality = quality?.figures
    record.tellsQuality = tellsQuality
    record.stages = stages?.stages
  }

  /// Samples the quality of the link that carries the path, for a caller other than the lines.
  ///
  /// - Parameter isFirst: Whether nobody has sampled for a while.
  func lookAtQuality(over path: NetworkPath, isFirst: Bool) -> LinkQuality? {
    let watch = quality ?? makeQuality()
    quality = watch
    return watch.look(over: path, isFirst: isFirst)
  }

  // MARK: A service

  /// Takes the figures of a service.
  ///
  /// - Parameter path: The path that was reported last.
  func receive(_ record: EventRecord, over path: NetworkPath?) {
    if record.event == .traffic { traffic?.receive(record, over: path) } else { quality?.receive(record, over: path) }
  }

  func serviceWasLost(_ path: NetworkPath?) {
    traffic?.serviceWasLost(path)
    quality?.serviceWasLost(path)
  }

  func stop() {
    traffic?.stop()
    quality?.stop()
    stages?.stop()
  }
}
