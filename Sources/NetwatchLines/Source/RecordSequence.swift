import Netwatch
import NetwatchNetlink
import NetwatchStream

/// The records that a reader has got, one after the other: their numbers, and which interface was lost. Pure.
struct RecordSequence {
  /// The last record; nil if there was none.
  private(set) var last: EventRecord?
  private var count: UInt64 = 0
  /// The interface that carried the traffic last; nil if none has yet.
  private var carrier: EventRecord.LostInterface?

  /// Whether there was no record.
  var isEmpty: Bool { count == 0 }
  /// The number of the next record, if it does not have one of a service.
  var nextNumber: UInt64 { count + 1 }

  /// Returns a record as the next one, with the interface that was lost.
  mutating func append(_ record: EventRecord) -> EventRecord {
    count += 1
    var record = record
    if let now = EventRecord.LostInterface(record.path) {
      record.lost = record.event == .reachability && carrier?.kernelName != now.kernelName ? carrier : nil
      carrier = now
    } else if record.path.status == .notReachable, let carrier {
      record.lost = carrier
    }
    last = record
    return record
  }

  /// Returns a record in which nothing is known yet, as the first one. The next record is compared with none.
  mutating func appendUnresolved() -> EventRecord {
    count += 1
    return .unresolved(sequence: count)
  }

  /// Returns the last record with another event and date, and perhaps another path. It has the number of the last. Nil if there is
  /// none.
  mutating func `repeat`(as event: EventRecord.Event, at moment: Moment, _ path: NetworkPath? = nil) -> EventRecord? {
    if let path { last?.path = path }
    guard var record = last else { return nil }
    record.event = event
    (record.nanosecondsSince1970, record.monotonicNanoseconds) = (moment.wall, moment.monotonic)
    return record
  }

  /// Returns the next record about a change of the activity; nil if that is the same as in the last record, or there is none.
  func record(
    of activity: EventRecord.Activity, because reason: EventRecord.ActivityReason, at moment: Moment
  ) -> EventRecord? {
    guard var record = last, record.activity != activity else { return nil }
    record.event = .activity
    record.activity = activity
    record.activityReason = reason
    record.sequence = nextNumber
    (record.nanosecondsSince1970, record.monotonicNanoseconds) = (moment.wall, moment.monotonic)
    return record
  }

  /// Notes an activity that the reader knows in another way.
  mutating func note(_ activity: EventRecord.Activity) { last?.activity = activity }
}
