import Netwatch
import NetwatchNetlink
import NetwatchStream

/// Merges the records of this process and those of a service into one sequence, in which each record differs from the one before.
/// Decides when netlink is read here, and when requests are counted here. Pure.
///
/// ```
///             ┌───────┐  no service answers  ┌──────┐
///             │ start ├─────────────────────▶│ here │◀─┐
///             └───┬───┘                      └──┬───┘  │ the service is lost,
///  a record of a  │      a record of a service  │      │ or not asked any more
///  service        ▼                             ▼      │
///             ┌────────────────────────────────────────┴┐
///             │                 service                 │
///             └─────────────────────────────────────────┘
/// ```
///
/// The diagram is about the path. The activity comes from each service that answers, also from one of another network or with
/// other rules.
struct StatusMerger {
  enum Input {
    /// No service has answered in time, or the first record must not wait for one.
    case noService
    /// A record of this process.
    case local(EventRecord)
    /// The activity as it is counted here, because that was asked for.
    case counted(EventRecord.Activity)
    /// A record of a service, and whether that is on the network of this process.
    case service(EventRecord, sharesNetwork: Bool)
    /// The connection to the service is lost.
    case serviceLost
    /// A service is used for something else from now on, because rules have changed.
    case use(ServiceUse)
  }

  enum Output: Equatable {
    /// The next record.
    case record(EventRecord)
    /// New values of the last record, which keeps its number.
    case update(EventRecord)
    /// Netlink is read here from now on, or not any more.
    case watch(Bool)
    /// Requests are counted here from now on, or not any more. The answer to true is ``Input/counted(_:)``.
    case count(Bool)
  }

  /// Where the path comes from.
  private enum Origin { case start, service, awaitedHere, here }

  /// The records that were passed on.
  var sequence = RecordSequence()
  private var use: ServiceUse
  /// The changes of the signal that are told; nil for none.
  private let signalChanges: WiFiReporting.SignalChanges?
  private var origin = Origin.start
  /// The activity that the service has reported last; nil if none counts.
  private var servedActivity: EventRecord.Activity?
  /// Whether no service has sent a record since one was lost.
  private var hasLostService = false
  /// Whether the next path comes from another origin than the last one because of new rules.
  private var hasNewRules = false

  init(_ use: ServiceUse, signalChanges: WiFiReporting.SignalChanges? = nil) {
    self.use = use
    self.signalChanges = signalChanges
  }

  mutating func handle(_ input: Input, at moment: EventTimestamp) -> [Output] {
    switch input {
    case .noService:
      origin = .awaitedHere
      return [.count(true), .watch(true)]
    case .local(let record): return takeLocal(record)
    case .counted(let activity):
      guard origin == .here else { return [] }
      return records(sequence.record(of: activity, because: .serviceLost, at: moment))
    case .service(let record, let sharesNetwork):
      return record.event == .wifi
        ? takeSignal(record, isOfThisNetwork: sharesNetwork)
        : takeService(record, isOfThisNetwork: sharesNetwork, at: moment)
    case .serviceLost:
      hasLostService = true
      // The counts of the service are not known any more.
      servedActivity = nil
      if origin == .here { return [.count(true)] }
      origin = .awaitedHere
      return [.count(true), .watch(true)]
    case .use(let use):
      self.use = use
      hasNewRules = true
      guard case .activity = use, origin != .here else { return [] }
      origin = .awaitedHere
      return [.watch(true)]
    }
  }

  // MARK: This process

  private mutating func takeLocal(_ record: EventRecord) -> [Output] {
    guard origin == .here || origin == .awaitedHere else { return [] }
    origin = .here
    var record = record
    record.sequence = sequence.nextNumber
    if let servedActivity {
      if record.event == .activity { return [] }
      record.activity = servedActivity
    }
    if record.event == .wifi { return update(record.path, at: record.timestamp) }
    guard record.event == .initial, let last = sequence.last else { return [.record(record)] }
    // The first path after a service has ended is told only if it differs.
    if let next = successor(record, of: last, because: hasLostService ? .serviceLost : .requestEnded) {
      return [.record(next)]
    }
    if let new = record.path.wifi?.signal, signalChanges?.hasNews(new, after: last.path.wifi?.signal) == true {
      return update(record.path.with(reason: .signalChanged), at: record.timestamp)
    }
    return []
  }

  private mutating func update(_ path: NetworkPath, at moment: EventTimestamp) -> [Output] {
    sequence.update(path)
    return sequence.repeated(as: .wifi, at: moment).map { [.update($0)] } ?? []
  }

  // MARK: The service

  private mutating func takeService(
    _ record: EventRecord, isOfThisNetwork: Bool, at moment: EventTimestamp
  ) -> [Output] {
    let last = sequence.last
    let reason = record.activityReason(after: last?.activity, hasLostService: hasLostService)
    let isFirst = servedActivity == nil
    hasLostService = false
    servedActivity = record.activity
    let stops: [Output] = isFirst ? [.count(false)] : []
    guard case .everything = use, isOfThisNetwork else {
      if last != nil { return stops + records(sequence.record(of: record.activity, because: reason, at: moment)) }
      origin = .awaitedHere
      return stops + [.watch(true)]
    }
    let stopsWatching: [Output] = origin == .here || origin == .awaitedHere ? [.watch(false)] : []
    origin = .service
    guard let last else { return stops + stopsWatching + [.record(record.asInitial)] }
    return stops + stopsWatching + records(successor(record, of: last, because: reason))
  }

  /// Takes new values of the WiFi network. They are ignored if their path is not the last one that was told.
  private mutating func takeSignal(_ record: EventRecord, isOfThisNetwork: Bool) -> [Output] {
    let isLate = !record.path.saysTheSame(as: sequence.last?.path ?? record.path)
    // The first record is the response to this client.
    if origin != .service || !isOfThisNetwork || isLate || record.path.reason == .initial { return [] }
    return update(record.path, at: record.timestamp)
  }

  // MARK: Records

  private func records(_ record: EventRecord?) -> [Output] { record.map { [.record($0)] } ?? [] }

  /// Returns the first record of another origin as the next one; nil if it says the same as the last.
  private mutating func successor(
    _ record: EventRecord, of last: EventRecord, because reason: EventRecord.ActivityReason
  ) -> EventRecord? {
    defer { hasNewRules = false }
    guard var next = record.successor(of: last, becauseOf: reason) else { return nil }
    if hasNewRules, next.event == .reachability { next.path = next.path.with(reason: .rulesChanged) }
    return next
  }
}

/// The records that a reader has got, one after the other: their numbers, and which interface was lost. Pure.
struct RecordSequence {
  /// The last record; nil if there was none.
  private(set) var last: EventRecord?
  private var count: UInt64 = 0
  private var carrier = CarrierMemory()
  private var endings = EndingMemory()

  /// Whether there was no record.
  var isEmpty: Bool { count == 0 }
  /// The number of the next record in this sequence. A record of a service has the service's number instead, unless probes add
  /// their own records.
  var nextNumber: UInt64 { count + 1 }

  /// Returns a record as the next one, with the interface that was lost.
  mutating func append(_ record: EventRecord) -> EventRecord {
    count += 1
    var record = record
    // A service may know what was lost before this process has begun.
    let loss = carrier.loss(in: record.path, isChange: record.event == .reachability)
    if loss != nil || record.path.isReachable { record.lost = loss }
    let ending = endings.ending(in: record.path, after: record.lost)
    if ending != nil || !record.path.links.isEmpty { record.wifiEnding = ending }
    last = record
    return record
  }

  /// Returns a record in which nothing is known yet, as the first one. The next record is compared with none.
  mutating func appendUnresolved() -> EventRecord {
    count += 1
    return .unresolved(sequence: count)
  }

  /// Returns whether it has become known, with new values of the last path, why a WiFi network was left or not joined.
  func hasNewEnding(_ path: NetworkPath) -> Bool { endings.isNews(in: path, after: last?.lost) }

  /// Notes other links of the last path, which keeps its reason.
  mutating func updateLinks(_ path: NetworkPath) {
    if let reason = last?.path.reason { last?.path = path.with(reason: reason) }
  }

  /// Notes new values of the last path.
  mutating func update(_ path: NetworkPath) { last?.path = path }

  /// Returns the last record, which keeps its number, with another event and date. Nil if there is none.
  func repeated(as event: EventRecord.Event, at moment: EventTimestamp) -> EventRecord? {
    guard var record = last else { return nil }
    record.event = event
    record.timestamp = moment
    return record
  }

  /// Returns the next record about a change of the activity; nil if that is the same as in the last record, or there is none.
  func record(
    of activity: EventRecord.Activity, because reason: EventRecord.ActivityReason, at moment: EventTimestamp
  ) -> EventRecord? {
    guard var record = last, record.activity != activity else { return nil }
    record.event = .activity
    record.activity = activity
    record.activityReason = reason
    record.sequence = nextNumber
    record.timestamp = moment
    return record
  }

  /// Notes an activity that the reader knows in another way.
  mutating func note(_ activity: EventRecord.Activity) { last?.activity = activity }
}

extension EventRecord {
  /// The time of the event on both clocks.
  package var timestamp: EventTimestamp {
    get { EventTimestamp(monotonic: monotonicNanoseconds, wall: nanosecondsSince1970) }
    set { (monotonicNanoseconds, nanosecondsSince1970) = (newValue.monotonic, newValue.wall) }
  }

  /// Returns a record in which nothing is known yet, while the name of a host is resolved.
  static func unresolved(sequence: UInt64) -> EventRecord {
    let moment = EventTimestamp.now
    return EventRecord(
      sequence: sequence, nanosecondsSince1970: moment.wall, monotonicNanoseconds: moment.monotonic, event: .initial,
      path: NetworkPath(verdict: .unknown, reason: .unresolved, interfaces: InterfaceTable()))
  }
}
