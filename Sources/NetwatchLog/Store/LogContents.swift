import Netwatch
import NetwatchLibC

/// The contents of a log.
package struct LogContents: Sendable {
  /// The entries with the numbers of their runs, in the order in which they were stored. Of a part of the log, these are also
  /// the earlier ones from which its first states and outages follow.
  package let entries: [(run: Int64, entry: LogEntry)]
  /// The runs of the writers.
  package let runs: [LogRun]
  /// The bytes by day and link, from the day on with which the part begins.
  package let traffic: [TrafficTally.Sum]

  /// Returns the entries since a time in microseconds since 1970.
  package func entries(since moment: Int64) -> [LogEntry] {
    entries.lazy.map(\.entry).filter { $0.moment.wall >= moment }
  }

  /// The history of the network that follows from the entries.
  package var history: LogHistory { LogHistory(entries, runs: runs, now: .now) }

  /// Reads a log, even while another process writes to it.
  ///
  /// - Parameters:
  ///   - place: The location of the log.
  ///   - moment: The time in microseconds since 1970 from which on the history has to be complete. The later it is, the less is
  ///     read. Default: 0, everything.
  /// - Throws: A `PlainError` if there is no log, or it cannot be read.
  package init(reading place: LogPlace, since moment: Int64 = 0) throws(PlainError) {
    guard unsafe access(place.file, F_OK) == 0 || errno != ENOENT else {
      throw PlainError(
        "there is no log at '\(place.file)'; to keep one, run: systemctl --user enable --now netwatch-log "
          + "(or netwatch --follow --log)"
      )
    }
    do {
      try self.init(place, place.readAccess, since: moment)
    } catch let error as PlainError {
      throw error
    } catch let error as DatabaseError {
      // Where SQLite cannot create its shared memory, as in a read-only folder, it is not needed if no process writes.
      if [.notPermitted, .full].contains(error.kind),
        let contents = try? LogContents(place, .readUnchanging, since: moment)
      {
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

  private init(_ place: LogPlace, _ access: Database.Access, since moment: Int64) throws {
    let database = try Database(place.file, access)
    guard try LogSchema.isOurs(database, place) else {
      throw PlainError("the log '\(place.file)' is empty; its writer has not begun yet")
    }
    // The transaction gives all queries one snapshot.
    try database.execute("BEGIN")
    let lock = WriterLock(readingIn: place.folder)
    var runs: [LogRun] = []
    let run = try database.prepare("SELECT id, seen_us, seen_mono_us FROM run")
    while try run.step() {
      let id = run.integer(0)
      runs.append(
        LogRun(id: id, seen: run.integer(1), seenMonotonic: run.integer(2), isLive: lock?.isHeld(.run(id)) ?? false))
    }
    var traffic: [TrafficTally.Sum] = []
    let sum = try database.prepare("SELECT day, interface, received, sent FROM traffic WHERE day >= ?")
    try sum.begin(.integer(LocalTime(moment).day))
    while try sum.step() {
      traffic.append(
        TrafficTally.Sum(
          day: sum.integer(0), interface: sum.text(1), received: sum.integer(2), sent: sum.integer(3)))
    }
    entries = try Self.entries(of: database, runs, since: moment)
    (self.runs, self.traffic) = (runs, traffic)
  }

  /// Reads entries from the end of the log back to those that decide its state at `moment`: until there is a time before it at
  /// which each run that watched was reachable, or had not begun. An outage that was not over at `moment` may have begun long
  /// before, and what other runs saw of it is read too, because they may know more.
  private static func entries(
    of database: Database, _ runs: [LogRun], since moment: Int64
  ) throws -> [(run: Int64, entry: LogEntry)] {
    var states: [Int64: LogState] = [:]
    let state = try database.prepare("SELECT id, status, reason, medium, interface, ssid, expensive, vpn FROM state")
    while try state.step() { states[state.integer(0)] = LogSchema.state(in: state, from: 1) }
    var losses: [Int64: Int64] = [:]
    if try LogSchema.has(LogSchema.lossesTable, in: database) {
      let row = try database.prepare("SELECT entry, losses FROM \(LogSchema.lossesTable)")
      while try row.step() { losses[row.integer(0)] = max(row.integer(1), 0) }
    }
    var notes: [Int64: String] = [:]
    if try LogSchema.has(LogSchema.notesTable, in: database) {
      let row = try database.prepare("SELECT entry, text FROM \(LogSchema.notesTable)")
      while try row.step() { notes[row.integer(0)] = row.text(1) }
    }
    let row = try database.prepare(
      "SELECT id, run, time_us, mono_us, boot_us, state, changes, suspend_us FROM entry ORDER BY id DESC")
    var entries: [(run: Int64, entry: LogEntry)] = []
    var neededSince = moment
    // The time of the earliest entry of each run that is read yet, if the machine is reachable from it on.
    var reachable: [Int64: Int64?] = [:]
    func isUndecided(_ run: LogRun) -> Bool {
      guard let since = reachable[run.id] else { return run.isLive || run.seen >= neededSince }
      return since.map { $0 >= neededSince } ?? true
    }
    while try row.step() {
      let (id, run) = (row.integer(0), row.integer(1))
      let content: LogEntry.Content? =
        row.integer(5) == 0
        ? .suspend(min(max(row.integer(7), 0), LogMoment.latest))
        : states[row.integer(5)].map {
          .change($0, count: row.integer(6), carrierLosses: losses[id] ?? LogSchema.impliedLosses($0))
        }
      guard let content else { continue }
      let entry = LogEntry(
        LogMoment(wall: row.integer(2), monotonic: row.integer(3), boot: row.integer(4)), content, note: notes[id])
      let wall = entry.moment.wall
      // A run begins with the entry of its number, or later.
      guard wall >= neededSince || runs.contains(where: { $0.id <= id && isUndecided($0) }) else { break }
      entries.append((run, entry))
      if case .change(let state, _, _) = content, state.status.isReachable {
        reachable[run] = wall
      } else {
        reachable[run] = .some(nil)
        neededSince = min(neededSince, wall)
      }
    }
    entries.reverse()
    return entries
  }
}
