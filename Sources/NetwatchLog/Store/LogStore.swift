import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The database of the log, for its writer.
///
/// Each call of ``append(_:traffic:)`` is one transaction. SQLite writes its write-ahead log to the disk before the call
/// returns (`synchronous=FULL`). So a killed process or a power loss loses only what was not appended.
package final class LogStore {
  /// An open log, with a warning about the file that was at its place.
  package struct Opening {
    /// The open log.
    package let store: LogStore
    /// A sentence about a damaged file that was moved aside; nil if there was none.
    package let warning: String?
  }

  /// The default of the most bytes that the database may take on the disk, including its write-ahead log: 16 MB.
  package static let sizeLimit: Int64 = 16_000_000
  /// The number of pages at which SQLite copies its write-ahead log into the database, and then cuts the log file to their
  /// size.
  private static let pagesOfWriteAheadLog: Int64 = 64

  private let database: Database
  private let lock: WriterLock
  private let largest: Int64
  private let insertEntry: Statement
  private let insertLosses: Statement
  private let insertNote: Statement
  private let insertState: Statement
  private let findState: Statement
  private let insertTraffic: Statement
  private let touchRun: Statement
  private var run: Int64?
  /// The numbers of the states that the present transaction has stored or found. Between two of them, another writer may drop a
  /// state.
  private var states: [LogState: Int64] = [:]

  /// Opens the log, and creates one if there is none. The umask of the process determines who may read it.
  ///
  /// - Parameters:
  ///   - place: The location of the log.
  ///   - sizeLimit: The most bytes that the log may take on the disk. Default: 16 MB.
  /// - Returns: The open log, and a warning if a damaged file was moved aside.
  /// - Throws: A `PlainError` if the folder cannot be created, or the file is a database of another program. A `DatabaseError`
  ///   if SQLite fails.
  package static func open(_ place: LogPlace, sizeLimit: Int64 = LogStore.sizeLimit) throws -> Opening {
    let folder = try place.openFolder()
    try place.check(LogPlace.lock, in: folder)
    let lock: WriterLock
    do throws(SystemError) {
      lock = try WriterLock(writingIn: folder)
    } catch {
      throw PlainError("cannot write the log in '\(place.folder)': \(error.message)")
    }
    // Otherwise, two writers could both find a damaged file, and the second could move away the new file of the first.
    guard lock.take(.opening, waiting: true) else { throw PlainError("cannot lock the log in '\(place.folder)'") }
    defer { lock.release(.opening) }
    for suffix in ["", "-wal", "-shm", "-journal"] { try place.check(place.name + suffix, in: folder) }
    do {
      return Opening(store: try LogStore(place, folder, lock, sizeLimit), warning: nil)
    } catch let error as DatabaseError where error.kind == .damaged {
      let aside = try moveAside(place, in: folder)
      return Opening(
        store: try LogStore(place, folder, lock, sizeLimit),
        warning: "the log '\(place.file)' was damaged and renamed to '\(aside)', and a new one has begun")
    }
  }

  private init(_ place: LogPlace, _ folder: borrowing TrustedPath, _ lock: WriterLock, _ sizeLimit: Int64) throws {
    self.lock = lock
    // SQLite opens paths. Nobody else can change this one after the check.
    let database = try Database("\(folder.path)/\(place.name)", .write)
    try LogSchema.prepare(database, place)
    self.database = database
    try database.execute(
      """
      PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=\(Self.pagesOfWriteAheadLog);
      PRAGMA journal_size_limit=\(Self.pagesOfWriteAheadLog * LogSchema.pageSize)
      """)
    // The write-ahead log has at most its limit and the pages of one large transaction.
    largest = max(sizeLimit / LogSchema.pageSize - 4 * Self.pagesOfWriteAheadLog, 2 * Self.pagesOfWriteAheadLog)
    insertEntry = try database.prepare("INSERT INTO entry VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)")
    insertLosses = try database.prepare("INSERT OR REPLACE INTO \(LogSchema.lossesTable) VALUES (?, ?)")
    insertNote = try database.prepare("INSERT OR REPLACE INTO \(LogSchema.notesTable) VALUES (?, ?)")
    insertState = try database.prepare("INSERT INTO state VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)")
    findState = try database.prepare(
      """
      SELECT id FROM state
      WHERE status = ? AND reason = ? AND medium = ? AND interface = ? AND ssid = ? AND expensive = ? AND vpn = ?
      """)
    insertTraffic = try database.prepare(
      """
      INSERT INTO traffic VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET
        received = min(received + excluded.received, \(Int64.max)), sent = min(sent + excluded.sent, \(Int64.max))
      """)
    touchRun = try database.prepare("UPDATE run SET seen_us = ?, seen_mono_us = ? WHERE id = ?")
  }

  /// Stores all of the entries and traffic in one transaction, or nothing. Then drops the oldest entries if the log is too
  /// large.
  ///
  /// - Parameters:
  ///   - entries: The entries, in their order.
  ///   - traffic: The bytes of links since the last call. If there are several writers, only one of them stores traffic.
  /// - Throws: A ``DatabaseError``.
  package func append(_ entries: [LogEntry], traffic: [TrafficTally.Sum] = []) throws(DatabaseError) {
    guard !entries.isEmpty || !traffic.isEmpty else { return }
    let countsTraffic = !traffic.isEmpty && lock.take(.traffic)
    let knownRun = run
    states = [:]
    do throws(DatabaseError) {
      try database.inTransaction { () throws(DatabaseError) in
        let run = try beginRun(entries.first?.moment ?? .now)
        for entry in entries { try insert(entry, run) }
        guard countsTraffic else { return }
        for sum in traffic {
          try insertTraffic.run(.integer(sum.day), .text(sum.interface), .integer(sum.received), .integer(sum.sent))
        }
      }
    } catch {
      // A run that was rolled back has no number.
      run = knownRun
      throw error
    }
    try dropOldest()
  }

  /// Stores that the writer still runs at this time, so that readers know it even if the writer is killed later. Throws a
  /// ``DatabaseError``.
  package func touch(_ moment: LogMoment) throws(DatabaseError) {
    guard let run else { return }
    try touchRun.run(.integer(moment.wall), .integer(moment.monotonic), .integer(run))
  }

  private func beginRun(_ moment: LogMoment) throws(DatabaseError) -> Int64 {
    if let run { return run }
    try database.prepare(
      """
      INSERT INTO run VALUES (
        1 + max((SELECT coalesce(max(id), 0) FROM entry), (SELECT coalesce(max(id), 0) FROM run)), ?, ?)
      """
    ).run(.integer(moment.wall), .integer(moment.monotonic))
    let id = database.lastInsertedRow
    _ = lock.take(.run(id))
    run = id
    return id
  }

  private func insert(_ entry: LogEntry, _ run: Int64) throws(DatabaseError) {
    var (state, count, suspend): (Int64, Int64, Int64) = (0, 1, 0)
    var losses: Int64?
    switch entry.content {
    case .change(let value, let changes, let carrierLosses):
      (state, count) = (try number(of: value), changes)
      if carrierLosses != LogSchema.impliedLosses(value) { losses = carrierLosses }
    case .suspend(let length): suspend = length
    }
    let moment = entry.moment
    try insertEntry.run(
      .integer(run), .integer(moment.wall), .integer(moment.monotonic), .integer(moment.boot), .integer(state),
      .integer(count), .integer(suspend))
    let row = database.lastInsertedRow
    if let losses { try insertLosses.run(.integer(row), .integer(losses)) }
    if let note = entry.note { try insertNote.run(.integer(row), .text(note)) }
  }

  private func number(of state: LogState) throws(DatabaseError) -> Int64 {
    if let known = states[state] { return known }
    let values = LogSchema.values(of: state)
    var id = try findState.number(values)
    if id == nil {
      try insertState.run(values)
      id = database.lastInsertedRow
    }
    states[state] = id
    return id ?? 0
  }

  // MARK: The size

  /// Drops the oldest sixteenth of the entries when the database has reached its limit. SQLite reuses their pages.
  private func dropOldest() throws(DatabaseError) {
    let used = try database.number("PRAGMA page_count") - database.number("PRAGMA freelist_count")
    guard used > largest else { return }
    try database.inTransaction { () throws(DatabaseError) in
      try database.execute(
        """
        DELETE FROM entry WHERE id <= (SELECT min(id) + (max(id) - min(id)) / 16 FROM entry);
        DELETE FROM \(LogSchema.lossesTable) WHERE entry < (SELECT min(id) FROM entry);
        DELETE FROM \(LogSchema.notesTable) WHERE entry < (SELECT min(id) FROM entry);
        DELETE FROM state WHERE id NOT IN (SELECT state FROM entry);
        DELETE FROM run WHERE id < (SELECT min(run) FROM entry);
        DELETE FROM traffic WHERE day < (SELECT max(day) FROM traffic) - 200000
        """)
    }
  }

  // MARK: Damage

  /// Moves a damaged database aside.
  ///
  /// - Returns: The new path of the file.
  private static func moveAside(_ place: LogPlace, in folder: borrowing TrustedPath) throws(PlainError) -> String {
    let aside = "\(place.name).damaged-\(LogMoment.now.wall / 1_000_000)"
    let number = folder.descriptor.rawValue
    for suffix in ["-wal", "-shm", ""] {
      guard unsafe renameat(number, place.name + suffix, number, aside + suffix) == 0 || errno == ENOENT else {
        let error = SystemError.last("rename")
        throw PlainError("the log '\(place.file)' is damaged and cannot be moved aside: \(error.message)")
      }
    }
    return "\(place.folder)/\(aside)"
  }
}
