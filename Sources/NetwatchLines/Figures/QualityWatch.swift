import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// The quality of the link that carries the path, for lines. It is sampled here, or by a service that samples for all its
/// clients.
package final class QualityWatch {
  /// The figures of the last sample; nil if they are not known.
  package private(set) var figures: LinkQuality?
  private let say: (_ sentence: String) -> Void
  private let addresses: () -> Set<IPAddress>?
  private let tell: (Moment) -> Void
  private var sampler: QualitySampler?
  /// The verdict of the path whose link was sampled last; nil before the first sample.
  private var verdict: NetworkPath.Verdict?
  private var news = QualityNews()
  /// Whether a service samples.
  private var isServed = false
  private var hasWarned = false

  /// Creates a watch that does not sample yet.
  ///
  /// - Parameters:
  ///   - input: The source of the list of connections.
  ///   - say: The closure that gets each sentence for people.
  ///   - addresses: The closure that returns the addresses that traffic leaves from.
  ///   - tell: The closure that is called when there are new figures, with their time.
  package init(
    on loop: EventLoop, of input: NetlinkInput, say: @escaping (_ sentence: String) -> Void,
    addresses: @escaping () -> Set<IPAddress>?,
    tell: @escaping (Moment) -> Void
  ) {
    self.say = say
    self.addresses = addresses
    self.tell = tell
    sampler = QualitySampler(on: loop, of: input) { [unowned self] in look() }
  }

  /// Samples the link of a path now and from now on. If the path has not changed, nothing happens.
  package func follow(_ path: NetworkPath) {
    guard path.verdict != verdict else { return }
    change(to: path.verdict)
    guard !isServed, path.carrier != nil else { return }
    _ = sample(from: path.localAddresses)
    sampler?.setTimer()
  }

  /// Samples now, because it is time or a replay has come to a sample.
  package func look() {
    guard let moment = sample(from: addresses() ?? []) else { return }
    if let figures, news.take(figures, at: .nanoseconds(moment.monotonic)) { tell(moment) }
    // The closure may have stopped the watch.
    if verdict != nil { sampler?.setTimer() }
  }

  /// Samples the link of a path once, and returns the figures.
  ///
  /// - Parameter isFirst: Whether nobody has sampled for a while.
  package func look(over path: NetworkPath, isFirst: Bool) -> LinkQuality? {
    if isFirst { stop() }
    if path.verdict != verdict { change(to: path.verdict) }
    return sample(from: addresses() ?? path.localAddresses).flatMap { _ in figures }
  }

  /// Forgets the counters, because they are not about the new path.
  private func change(to verdict: NetworkPath.Verdict) {
    if self.verdict != nil { sampler?.forget() }
    self.verdict = verdict
    figures = nil
  }

  /// Takes a sample and returns its time. Nil if no link carries the path.
  private func sample(from addresses: Set<IPAddress>) -> Moment? {
    guard let sampler, let link = verdict?.carrier else { return nil }
    let answer = sampler.look(over: link, from: addresses)
    if let failure = sampler.failure, !hasWarned {
      hasWarned = true
      say("TCP connections are not listed, so the quality of the link is not known: \(failure)")
    }
    figures = answer.figures ?? figures
    return answer.moment
  }

  // MARK: A service

  /// Takes the figures of a service. A service that is older than this program sends none, and is not waited for.
  ///
  /// - Parameter path: The path that was reported last. Figures of another link are ignored, because they come before or after
  ///   a change.
  package func receive(_ record: EventRecord, over path: NetworkPath?) {
    guard let quality = record.carrierQuality, quality.isOf(path?.carrier) else { return }
    if !isServed { stop() }
    isServed = true
    verdict = path?.verdict
    figures = quality
    tell(.now)
  }

  /// Samples here again, because the service is gone.
  package func serviceWasLost(_ path: NetworkPath?) {
    isServed = false
    stop()
    news = QualityNews()
    if let path { follow(path) }
  }

  /// Stops sampling and forgets the figures.
  package func stop() {
    sampler?.stop()
    verdict = nil
    figures = nil
  }
}
