import Netwatch
import NetwatchLibC

/// The contents of a log.
package struct LogContents: Sendable {
  /// The entries with the numbers of their runs, in the order in which they were stored.
  package let entries: [(run: Int64, entry: LogEntry)]
  /// The runs of the writers.
  package let runs: [LogRun]
  /// The bytes by day and link.
  package let traffic: [TrafficTally.Sum]

  /// Returns the entries since a time in microseconds since 1970.
  package func entries(since moment: Int64) -> [LogEntry] {
    entries.lazy.map(\.entry).filter { $0.moment.wall >= moment }
  }

  /// The history of the network that follows from the entries.
  package var history: LogHistory { LogHistory(entries, runs: runs, now: .now) }

  /// Reads a log, even while another process writes to it.
  ///
  /// - Throws: A `PlainError` if there is no log, or it cannot be read.
  package init(reading place: LogPlace) throws(PlainError) {
    guard unsafe access(place.file, F_OK) == 0 || errno != ENOENT else {
      throw PlainError(
        "there is no log at '\(place.file)'; to keep one, run: systemctl --user enable --now netwatch-log "
          + "(or netwatch --follow --log)"
      )
    }
    do {
      try self.init(place, place.readAccess)
    } catch let error as PlainError {
      throw error
    } catch let error as DatabaseError {
      // Where SQLite cannot create its shared memory, as in a read-only folder, it is not needed if no process writes.
      if [.notPermitted, .full].contains(error.kind), let contents = try? LogContents(place, .readUnchanging) {
        self = contents
        return
      }
      throw PlainError(Self.sentence(error, place))
    } catch {
      throw PlainError("\(error)")
    }
  }

  private static func sentence(_ error: DatabaseError, _ place: LogPlace) -> String {
    switch error.kind {
    case .damaged:
      "'\(place.file)' is no log, or a damaged one; if --log writes it, it is moved aside then and a new one begins"
    case .full, .busy, .notPermitted, .other: "cannot read the log '\(place.file)': \(error)"
    }
  }

  private init(_ place: LogPlace, _ access: Database.Access) throws {
    let database = try Database(place.file, access)
    guard try LogSchema.isOurs(database, place) else {
      throw PlainError("the log '\(place.file)' is empty; its writer has not begun yet")
    }
    // The transaction gives all queries one snapshot.
    try database.execute("BEGIN")
    var states: [Int64: LogState] = [:]
    let state = try database.prepare("SELECT id, status, reason, medium, interface, ssid, expensive, vpn FROM state")
    while try state.step() { states[state.integer(0)] = LogSchema.state(in: state, from: 1) }
    let row = try database.prepare(
      "SELECT run, time_us, mono_us, boot_us, state, changes, suspend_us FROM entry ORDER BY id")
    var entries: [(run: Int64, entry: LogEntry)] = []
    entries.reserveCapacity(Int(clamping: min(try database.number("SELECT count(*) FROM entry"), 1_000_000)))
    while try row.step() {
      let moment = LogMoment(wall: row.integer(1), monotonic: row.integer(2), boot: row.integer(3))
      let content: LogEntry.Content? =
        row.integer(4) == 0
        ? .suspend(min(max(row.integer(6), 0), LogMoment.latest))
        : states[row.integer(4)].map { .change($0, count: row.integer(5)) }
      if let content { entries.append((row.integer(0), LogEntry(moment, content))) }
    }
    let lock = WriterLock(readingIn: place.folder)
    var runs: [LogRun] = []
    let run = try database.prepare("SELECT id, seen_us, seen_mono_us FROM run")
    while try run.step() {
      let id = run.integer(0)
      runs.append(
        LogRun(id: id, seen: run.integer(1), seenMonotonic: run.integer(2), isLive: lock?.isHeld(.run(id)) ?? false))
    }
    var traffic: [TrafficTally.Sum] = []
    let sum = try database.prepare("SELECT day, interface, received, sent FROM traffic")
    while try sum.step() {
      traffic.append(
        TrafficTally.Sum(
          day: sum.integer(0), interface: sum.text(1), received: sum.integer(2), sent: sum.integer(3)))
    }
    (self.entries, self.runs, self.traffic) = (entries, runs, traffic)
  }
}
