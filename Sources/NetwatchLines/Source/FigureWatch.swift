import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Figures in lines: what links carry, how well the link works that carries the traffic, and which stage of the way fails. Where
/// nobody asks, nothing of this exists.
final class FigureWatch {
  private var traffic: TrafficWatch?
  private var quality: QualityWatch?
  private var stages: StageWatch?
  private let tellsQuality: Bool
  private let makeQuality: () -> QualityWatch

  /// - Parameters:
  ///   - addresses: gives those that traffic leaves from.
  ///   - tell: called when there are figures that say something new, with their event and date.
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
        on: loop, probing: options.probe?.host, nudges: options.nudgesGateway, tellsEach: options.tellsEachStage
      ) { tell(.stages, $0) }
    }
  }

  /// Whether lines have figures.
  var areWanted: Bool { traffic != nil || tellsQuality || stages != nil }
  /// For a replay that has come to a sample of the traffic; nil where it is not sampled.
  var sample: (() -> Void)? { traffic.map { traffic in { traffic.sample() } } }
  /// For a replay that has come to a look at connections; nil where they are not looked at.
  var look: (() -> Void)? { quality.map { quality in { quality.look() } } }

  /// From now on of the links of this record's path.
  func follow(_ record: EventRecord) {
    traffic?.follow(record.path)
    quality?.follow(record.path)
    stages?.follow(record.path, record.internet)
  }

  /// The links have changed, and not the path.
  func linksChanged(_ path: NetworkPath, at moment: Moment) { stages?.linksChanged(path, at: moment) }

  /// A probe of the internet begins.
  func probeBegins() { stages?.probeBegins() }

  /// The newest figures become those of the record.
  func set(_ record: inout EventRecord) {
    record.traffic = traffic?.figures
    record.quality = quality?.figures
    record.tellsQuality = tellsQuality
    record.stages = stages?.stages
  }

  /// Looks how well the link works that carries the traffic, for somebody else than the lines.
  ///
  /// - Parameter isFirst: nobody has looked for a while.
  func lookAtQuality(over path: NetworkPath, isFirst: Bool) -> LinkQuality? {
    let watch = quality ?? makeQuality()
    quality = watch
    return watch.look(over: path, isFirst: isFirst)
  }

  // MARK: A service

  /// - Parameter path: the one that was told last.
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
