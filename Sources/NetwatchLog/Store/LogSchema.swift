import Netwatch

/// The tables of the log. Times are in microseconds. A missing value of a state is stored as an empty text. The number of a run is
/// at most that of its first entry, and larger than that of each run before it, so that readers know where a run begins.
enum LogSchema {
  static let pageSize: Int64 = 4_096
  /// The number that identifies databases of netwatch: "ntwl" as a number.
  private static let application: Int64 = 0x6e74_776c
  private static let version: Int64 = 1

  private static let tables = """
    CREATE TABLE run (id INTEGER PRIMARY KEY, seen_us INTEGER NOT NULL, seen_mono_us INTEGER NOT NULL);
    CREATE TABLE state (
      id INTEGER PRIMARY KEY, status TEXT NOT NULL, reason TEXT NOT NULL, medium TEXT NOT NULL, interface TEXT NOT NULL,
      ssid BLOB NOT NULL, expensive INTEGER NOT NULL, vpn TEXT NOT NULL,
      UNIQUE (status, reason, medium, interface, ssid, expensive, vpn));
    CREATE TABLE entry (
      id INTEGER PRIMARY KEY, run INTEGER NOT NULL, time_us INTEGER NOT NULL, mono_us INTEGER NOT NULL,
      boot_us INTEGER NOT NULL, state INTEGER NOT NULL, changes INTEGER NOT NULL, suspend_us INTEGER NOT NULL);
    CREATE TABLE traffic (
      day INTEGER NOT NULL, interface TEXT NOT NULL, received INTEGER NOT NULL, sent INTEGER NOT NULL,
      PRIMARY KEY (day, interface)) WITHOUT ROWID;
    """

  /// How often the carrier was lost before an entry, if that is not what ``impliedLosses(_:)`` says. Logs that were begun earlier get
  /// this table when they are written next.
  static let lossesTable = "carrier"
  private static let losses = "\(lossesTable) (entry INTEGER PRIMARY KEY, losses INTEGER NOT NULL)"

  /// What else is known of an entry, for people. Logs that were begun earlier get this table when they are written next.
  static let notesTable = "note"
  private static let notes = "\(notesTable) (entry INTEGER PRIMARY KEY, text TEXT NOT NULL)"

  /// How often the carrier was lost if a change to this state is all that is known.
  static func impliedLosses(_ state: LogState) -> Int64 {
    state.isOutage && state.reason == ReachabilityReason.noCarrier.rawValue ? 1 : 0
  }

  /// Creates the tables in a new database, and checks those of an existing one.
  ///
  /// - Throws: A `PlainError` if the database belongs to another program. A `DatabaseError`, with the kind `damaged` if pages
  ///   are inconsistent.
  static func prepare(_ database: Database, _ place: LogPlace) throws {
    if try isOurs(database, place) {
      let said = try database.text("PRAGMA quick_check(1)")
      guard said == "ok" else { throw DatabaseError.damaged(said) }
      return try database.execute("CREATE TABLE IF NOT EXISTS \(losses); CREATE TABLE IF NOT EXISTS \(notes)")
    }
    try database.execute("PRAGMA page_size=\(pageSize)")
    try database.inTransaction { () throws(DatabaseError) in
      try database.execute(
        "\(tables) CREATE TABLE \(losses); CREATE TABLE \(notes); PRAGMA application_id=\(application); PRAGMA user_version=\(version)"
      )
    }
  }

  /// Returns whether the database has the tables of netwatch; false if it is empty. Throws a `PlainError` if it belongs to
  /// another program or a later version.
  static func isOurs(_ database: Database, _ place: LogPlace) throws -> Bool {
    let application = try database.number("PRAGMA application_id")
    if application == Self.application {
      guard try database.number("PRAGMA user_version") <= version else {
        throw PlainError(
          "the log '\(place.file)' was written by a later version of netwatch; install that version, or move the log away"
        )
      }
      guard try hasOurTables(database) else {
        throw PlainError(
          "the log '\(place.file)' has tables that netwatch has not made; move it away, so that a new log can begin")
      }
      return true
    }
    guard try application == 0 && database.number("SELECT count(*) FROM sqlite_schema") == 0 else {
      throw PlainError(
        "'\(place.file)' is a database of another program; move it away, so that netwatch can keep its log there")
    }
    return false
  }

  /// Returns whether the tables are exactly those that netwatch makes. A view, a virtual table or a computed column of the same
  /// name would make a query run what somebody else has written.
  private static func hasOurTables(_ database: Database) throws(DatabaseError) -> Bool {
    func words(_ statement: some StringProtocol) -> String { String(statement.filter { !$0.isWhitespace }) }
    var missing = Set(tables.split(separator: ";").map(words))
    missing.remove("")
    let row = try database.prepare("SELECT sql FROM sqlite_schema WHERE type = 'table'")
    while try row.step() { missing.remove(words(row.text(0))) }
    guard missing.isEmpty else { return false }
    for (name, columns) in [(lossesTable, losses), (notesTable, notes)] {
      let found = try statement(of: name, in: database)
      guard found.isEmpty || words(found) == words("CREATE TABLE \(columns)") else { return false }
    }
    return true
  }

  /// Returns the statement that has made a table or something else of this name; empty if there is none.
  private static func statement(of name: String, in database: Database) throws(DatabaseError) -> String {
    try database.text("SELECT sql FROM sqlite_schema WHERE name = '\(name)'")
  }

  /// Returns whether the database has a table.
  static func has(_ table: String, in database: Database) throws(DatabaseError) -> Bool {
    try !statement(of: table, in: database).isEmpty
  }

  /// Returns the values of a state, in the order of the columns.
  static func values(of state: LogState) -> [Statement.Value] {
    [
      .text(state.status.rawValue), .text(state.reason), .text(state.medium?.rawValue ?? ""), .text(state.interface),
      .bytes(state.ssid?.bytes ?? []), .integer(state.isExpensive ? 1 : 0), .text(state.vpn),
    ]
  }

  /// Reads a state from the columns from `first` on.
  static func state(in row: Statement, from first: CInt) -> LogState {
    let ssid = row.bytes(first + 4)
    return LogState(
      status: ReachabilityStatus(rawValue: row.text(first)) ?? .unknown, reason: row.text(first + 1),
      medium: Medium(rawValue: row.text(first + 2)), interface: row.text(first + 3),
      ssid: ssid.isEmpty ? nil : SSID(ssid), isExpensive: row.integer(first + 5) != 0, vpn: row.text(first + 6))
  }
}
