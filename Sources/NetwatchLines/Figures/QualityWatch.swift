import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// How well the link works that carries the traffic, for lines: looked at here, or by a service that looks for all who ask it.
package final class QualityWatch {
  /// As they were looked at last.
  package private(set) var figures: LinkQuality?
  private let say: (_ sentence: String) -> Void
  private let addresses: () -> Set<IPAddress>?
  private let tell: (Moment) -> Void
  private var sampler: QualitySampler?
  /// That of the path whose link was looked at last; nil before the first look.
  private var verdict: NetworkPath.Verdict?
  private var news = QualityNews()
  /// A service looks.
  private var isServed = false
  private var hasWarned = false

  /// - Parameters:
  ///   - input: where connections are looked at.
  ///   - say: gets each sentence for people.
  ///   - addresses: gives those that traffic leaves from.
  ///   - tell: called when there are figures that say something new, with their date.
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

  /// Looks at the link of a path, and goes on to do so. If the path is as it was, nothing changes.
  package func follow(_ path: NetworkPath) {
    guard path.verdict != verdict else { return }
    change(to: path.verdict)
    guard !isServed, path.carrier != nil else { return }
    _ = sample(from: path.localAddresses)
    sampler?.setTimer()
  }

  /// It is time to look, or a replay has come to a look.
  package func look() {
    guard let moment = sample(from: addresses() ?? []) else { return }
    if let figures, news.take(figures, at: .nanoseconds(moment.monotonic)) { tell(moment) }
    // Whoever was told may have stopped it.
    if verdict != nil { sampler?.setTimer() }
  }

  /// Looks once, at the link of a path.
  ///
  /// - Parameter isFirst: nobody has looked for a while.
  package func look(over path: NetworkPath, isFirst: Bool) -> LinkQuality? {
    if isFirst { stop() }
    if path.verdict != verdict { change(to: path.verdict) }
    return sample(from: addresses() ?? path.localAddresses).flatMap { _ in figures }
  }

  /// What was counted until now says nothing of another path.
  private func change(to verdict: NetworkPath.Verdict) {
    if self.verdict != nil { sampler?.forget() }
    self.verdict = verdict
    figures = nil
  }

  /// Nil if no link carries the traffic.
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

  /// A service has looked. One that is older than this program does not, and is not waited for.
  ///
  /// - Parameter path: the one that was told last; figures of another link are too late, or too early.
  package func receive(_ record: EventRecord, over path: NetworkPath?) {
    guard let quality = record.carrierQuality, quality.isOf(path?.carrier) else { return }
    if !isServed { stop() }
    isServed = true
    verdict = path?.verdict
    figures = quality
    tell(.now)
  }

  package func serviceWasLost(_ path: NetworkPath?) {
    isServed = false
    stop()
    news = QualityNews()
    if let path { follow(path) }
  }

  package func stop() {
    sampler?.stop()
    verdict = nil
    figures = nil
  }
}
