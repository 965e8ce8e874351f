/// Computes the quality of a link from what the kernel reports about the TCP connections that leave over it. Pure: looks go
/// in, figures come out.
///
/// The loss is the part of all segments that were sent again, without those that the other side had already got. It counts
/// only what was sent while the link was as it is now. A part of the last minute that differs from what came after it is
/// forgotten.
package struct QualityMeter: Sendable {
  /// The connections at one moment. The list is complete: a missing connection has ended.
  package struct Look: Sendable {
    package var link: (index: Int32, name: InterfaceName)
    /// The time of the kernel's answer, on the monotonic clock.
    package var time: Duration
    /// The time that the machine has been suspended since it was started.
    package var suspendedTime: Duration
    package var connections: [ConnectionFacts]

    package init(
      over link: (index: Int32, name: InterfaceName), at time: Duration, suspendedTime: Duration = .zero,
      _ connections: [ConnectionFacts]
    ) {
      self.link = link
      self.time = time
      self.suspendedTime = suspendedTime
      self.connections = connections
    }
  }

  private struct Connection {
    var acknowledged: UInt64
    var sent: UInt32
    var repeated: UInt32
    var duplicated: UInt32
    /// The smoothed round-trip time at the last look that has found an acknowledgement.
    var roundTripTime: UInt32
    /// The smaller of ``roundTripTime`` and the value of the look before. A loss or a delayed acknowledgement makes the
    /// smoothed time longer for a moment; nothing makes it shorter.
    var leastTime: UInt32
    /// The times at which something was last sent and last acknowledged. Nil if that was before the first look.
    var lastSent: Duration?
    var lastAcknowledged: Duration?
    /// The segments that counted as lost at the last look.
    var lost: UInt32
    /// The time of the last look that has listed the connection.
    var lastSeen: Duration

    /// Creates a connection whose counters begin at zero.
    init(at time: Duration) {
      (acknowledged, sent, repeated, duplicated, roundTripTime, leastTime, lost, lastSeen) = (0, 0, 0, 0, 0, 0, 0, time)
    }
  }

  /// The segments that were sent between two looks.
  private struct Part {
    var time: Duration
    var sent: UInt64
    var lost: UInt64
  }

  /// The time between two looks.
  package static let interval = Duration.seconds(4)
  /// The figures of fewer connections tell more about those connections than about the link.
  private static let fewestConnections = 3
  /// The time within which a measurement belongs to this look or the one before.
  private static let recently = interval * 3 / 2
  /// A connection counts for this long after it has sent something.
  private static let freshness = Duration.seconds(30)
  /// The longest time that the loss is computed over.
  private static let lossTime = Duration.seconds(60)
  /// Among fewer segments one repetition would be more than a per cent.
  private static let fewestSegments: UInt64 = 100
  /// Fewer segments do not prove that the loss has changed.
  private static let fewestSegmentsOfPart: UInt64 = 50
  /// The unlikeliness by chance that a difference of the loss needs: the square of this many standard deviations. Losses come
  /// in bursts, so this is more than statistics alone would ask for.
  private static let evidence = 16.0
  /// Counters that are older than this tell nothing about now, because nobody has looked meanwhile.
  private static let longestPause = interval * 4
  /// At most this many connections are kept after their end.
  private static let mostKept = 65_536

  private var connections: [UInt64: Connection] = [:]
  private var parts: [Part] = []
  private var former: (link: (index: Int32, name: InterfaceName), time: Duration, suspendedTime: Duration)?

  private var isInterrupted = false

  package init() {}

  /// Forgets everything that was counted, because the link has joined another network.
  package mutating func forget() { isInterrupted = true }

  private enum Base {
    /// A connection that is not known has begun since the former look.
    case former
    /// There is no former look. Each connection counts from its beginning if it has sent something not long ago.
    case none
    /// The counters before belong to another link or network, or to the time before a suspend.
    case present
  }

  /// Returns the figures at a look.
  package mutating func handle(_ look: Look) -> LinkQuality {
    let base = base(of: look)
    former = (look.link, look.time, look.suspendedTime)
    isInterrupted = false
    if base != .former { (connections, parts) = ([:], []) }
    var part = Part(time: look.time, sent: 0, lost: 0)
    for facts in look.connections { count(facts, base, at: look.time, in: &part) }
    let isCrowded = connections.count > Self.mostKept
    connections = connections.filter { _, connection in
      connection.lastSeen == look.time
        || !isCrowded && connection.lastSent.map { $0 + Self.freshness > look.time } ?? false
    }
    parts.removeAll { $0.time + Self.lossTime <= look.time }
    parts.append(part)
    forgetWhatDiffers()
    let figures = figures(of: look.link, at: look.time)
    // These parts count from the beginnings of the connections; the next look counts from this one.
    if base == .none { parts = [] }
    return figures
  }

  private func base(of look: Look) -> Base {
    if isInterrupted { return .present }
    guard let former else { return .none }
    guard former.link == look.link, look.suspendedTime - former.suspendedTime < TrafficMeter.suspendThreshold,
      former.time < look.time
    else { return .present }
    return look.time - former.time < Self.longestPause ? .former : .none
  }

  private mutating func count(_ facts: ConnectionFacts, _ base: Base, at now: Duration, in part: inout Part) {
    let isOld = base == .none && .nanoseconds(facts.sentAge) > Self.freshness
    var connection = connections[facts.cookie] ?? Connection(at: now)
    connection.lastSeen = now
    defer { connections[facts.cookie] = connection }
    // A connection that is nearly over has no counters any more.
    guard let sent = Self.difference(facts.segmentsSent, connection.sent),
      let repeated = Self.difference(facts.segmentsRepeated, connection.repeated),
      let duplicated = Self.difference(facts.segmentsDuplicated, connection.duplicated)
    else { return }
    if base != .present, !isOld {
      if sent > 0 { connection.lastSent = now }
      // The last measurement was at the acknowledgement or shortly before.
      if facts.bytesAcknowledged > connection.acknowledged, facts.roundTripTime > 0 {
        let isFresh = connection.lastAcknowledged.map { $0 >= now - Self.recently } ?? false
        connection.leastTime = min(facts.roundTripTime, isFresh ? connection.roundTripTime : .max)
        connection.roundTripTime = facts.roundTripTime
        connection.lastAcknowledged = now
      }
      let lost = min(repeated - min(repeated, duplicated), sent)
      part.sent = part.sent.addingSaturated(UInt64(sent))
      part.lost = part.lost.addingSaturated(UInt64(lost))
      // The other side reports a duplicate a round trip later, which may be after the look at which the segment counted as lost.
      takeBack(min(duplicated - min(repeated, duplicated), connection.lost))
      connection.lost = lost
    }
    connection.acknowledged = facts.bytesAcknowledged
    connection.sent = facts.segmentsSent
    connection.repeated = facts.segmentsRepeated
    connection.duplicated = facts.segmentsDuplicated
  }

  /// Counts some segments of the former look no longer as lost.
  private mutating func takeBack(_ segments: UInt32) {
    guard let last = parts.indices.last else { return }
    parts[last].lost -= min(parts[last].lost, UInt64(segments))
  }

  /// Returns what a counter has counted since. Nil if it has begun anew.
  private static func difference(_ counter: UInt32, _ former: UInt32) -> UInt32? {
    let difference = counter &- former
    return difference < 1 << 31 ? difference : nil
  }

  // MARK: Loss

  /// Forgets the parts before a moment at which the loss changed.
  private mutating func forgetWhatDiffers() {
    var most = Self.evidence
    var start: Int?
    var (oldSent, oldLost) = (0.0, 0.0)
    let all = sums(of: parts[...])
    for (position, part) in parts.enumerated().dropLast() {
      oldSent += Double(part.sent)
      oldLost += Double(part.lost)
      let (newSent, newLost) = (Double(all.sent) - oldSent, Double(all.lost) - oldLost)
      let least = Double(Self.fewestSegmentsOfPart)
      guard oldSent >= least, newSent >= least else { continue }
      let loss = Double(all.lost) / Double(all.sent)
      let difference = newLost / newSent - oldLost / oldSent
      let variance = loss * (1 - loss) * (1 / newSent + 1 / oldSent)
      if variance > 0, difference * difference / variance > most {
        (most, start) = (difference * difference / variance, position + 1)
      }
    }
    if let start { parts.removeFirst(start) }
  }

  private func sums(of parts: ArraySlice<Part>) -> (sent: UInt64, lost: UInt64) {
    parts.reduce((0, 0)) { ($0.0.addingSaturated($1.sent), $0.1.addingSaturated($1.lost)) }
  }

  // MARK: Figures

  private func figures(of link: (index: Int32, name: InterfaceName), at now: Duration) -> LinkQuality {
    let count = connections.values.count { $0.lastSent.map { $0 + Self.freshness > now } ?? false }
    var loss: Int?
    let sums = sums(of: parts[...])
    if count >= Self.fewestConnections, sums.sent >= Self.fewestSegments {
      loss = Int((Double(sums.lost) / Double(sums.sent) * 1_000).rounded())
    }
    return LinkQuality(
      kernelName: link.name, interfaceIndex: link.index, connections: count,
      tenthsOfMilliseconds: roundTripTime(at: now).map { ($0 + 50) / 100 }, tenthsOfPercent: loss)
  }

  /// Returns the median of the connections that were acknowledged last, in microseconds. Older ones only count if there are
  /// too few of these: a smoothed time stays the same while nothing is sent.
  private func roundTripTime(at now: Duration) -> Int? {
    let measured = connections.values.compactMap { connection in
      connection.lastAcknowledged.map { (time: $0, value: Int(connection.leastTime)) }
    }
    .filter { $0.time + Self.freshness > now }
    .sorted { $0.time > $1.time }
    guard measured.count >= Self.fewestConnections else { return nil }
    // At least those of this look and the one before.
    let oldest = min(measured[Self.fewestConnections - 1].time, now - Self.recently)
    let values = measured.prefix { $0.time >= oldest }.map(\.value).sorted()
    let middle = values.count / 2
    return values.count.isMultiple(of: 2) ? (values[middle - 1] + values[middle]) / 2 : values[middle]
  }
}
