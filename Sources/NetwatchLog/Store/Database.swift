import CLibSQLite
import NetwatchEventLoop

/// A connection to an SQLite database, for one thread.
@safe final class Database {
  enum Access {
    /// Reads and writes, and creates the file if there is none.
    case write
    case read
    /// Reads, and creates no file for the shared memory.
    case readCreatingNothing
    /// Reads a file that no process changes, such as one in a folder in which SQLite cannot create its shared memory.
    case readUnchanging
  }

  private let connection: OpaquePointer

  /// - Parameter busyTimeout: The time that a call waits for other processes, in milliseconds. Default: 5,000.
  init(_ path: String, _ access: Access, busyTimeout: CInt = 5_000) throws(DatabaseError) {
    let flags =
      switch access {
      // The name of a log to write is no link.
      case .write: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW
      case .read: SQLITE_OPEN_READONLY
      case .readCreatingNothing, .readUnchanging: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      }
    let name =
      switch access {
      case .write, .read: path
      case .readCreatingNothing: "file:\(Self.percentEncoded(path))?readonly_shm=1"
      case .readUnchanging: "file:\(Self.percentEncoded(path))?immutable=1"
      }
    var opened: OpaquePointer?
    let code = unsafe sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let connection = unsafe opened else {
      let message = unsafe opened.map { unsafe String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
      let systemCode = unsafe sqlite3_system_errno(opened)
      unsafe sqlite3_close_v2(opened)
      throw DatabaseError(code: code, systemCode: systemCode, message)
    }
    unsafe self.connection = connection
    unsafe sqlite3_extended_result_codes(connection, 1)
    unsafe sqlite3_busy_timeout(connection, busyTimeout)
    distrustFile()
  }

  /// Limits what a file can make SQLite do, because somebody else may have written it. See "Defense Against The Dark Arts" in
  /// SQLite's documentation.
  ///
  /// SQL cannot write to the schema or to internal tables. Functions, virtual tables, views and triggers of the schema do
  /// nothing beyond SQLite's own harmless functions. An SQLite that does not know a setting works without it.
  private func distrustFile() {
    unsafe netwatch_configure(connection, SQLITE_DBCONFIG_DEFENSIVE, true)
    let rights = [SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW]
    for option in rights { unsafe netwatch_configure(connection, option, false) }
    for (limit, value) in Self.limits { unsafe sqlite3_limit(connection, limit, value) }
  }

  /// The limits of SQLite that netwatch lowers. Its own values and statements are far shorter.
  private static let limits: [(CInt, CInt)] = [
    (SQLITE_LIMIT_LENGTH, 1_000_000), (SQLITE_LIMIT_SQL_LENGTH, 100_000), (SQLITE_LIMIT_COLUMN, 100),
    (SQLITE_LIMIT_EXPR_DEPTH, 50), (SQLITE_LIMIT_COMPOUND_SELECT, 3), (SQLITE_LIMIT_ATTACHED, 0),
    (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50), (SQLITE_LIMIT_VARIABLE_NUMBER, 10), (SQLITE_LIMIT_TRIGGER_DEPTH, 1),
  ]

  deinit { unsafe sqlite3_close_v2(connection) }

  /// Returns the path with escapes for the bytes that a URI cannot contain.
  private static func percentEncoded(_ path: String) -> String {
    var result = ""
    for byte in path.utf8 {
      let scalar = Unicode.Scalar(byte)
      let isPlain = byte < 0x80 && byte > 0x20 && !"%?#\"".unicodeScalars.contains(scalar)
      if isPlain {
        result.unicodeScalars.append(scalar)
      } else {
        result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
    return result
  }

  /// Runs one or several statements and ignores their rows.
  func execute(_ statements: String) throws(DatabaseError) {
    try check(unsafe sqlite3_exec(connection, statements, nil, nil, nil))
  }

  func prepare(_ text: String) throws(DatabaseError) -> Statement {
    var prepared: OpaquePointer?
    try check(unsafe sqlite3_prepare_v2(connection, text, -1, &prepared, nil))
    guard let statement = unsafe prepared else { throw DatabaseError(code: SQLITE_MISUSE, "an empty statement") }
    return unsafe Statement(statement, of: self)
  }

  /// Returns the first column of the first row as a number; 0 if there is no row.
  func number(_ query: String) throws(DatabaseError) -> Int64 {
    let statement = try prepare(query)
    return try statement.step() ? statement.integer(0) : 0
  }

  /// Returns the first column of the first row as text; empty if there is no row.
  func text(_ query: String) throws(DatabaseError) -> String {
    let statement = try prepare(query)
    return try statement.step() ? statement.text(0) : ""
  }

  var lastInsertedRow: Int64 { unsafe sqlite3_last_insert_rowid(connection) }

  /// Runs `body` in a transaction: either all of its changes are made or none. It first waits for other writers.
  func inTransaction<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
    try execute("BEGIN IMMEDIATE")
    do throws(DatabaseError) {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // SQLite has already rolled back after some errors; then this does nothing.
      try? execute("ROLLBACK")
      throw error
    }
  }

  fileprivate func check(_ code: CInt) throws(DatabaseError) {
    guard code != SQLITE_OK else { return }
    let message = unsafe String(cString: sqlite3_errmsg(connection))
    let fileCode = unsafe code & 0xff == SQLITE_IOERR ? netwatch_last_file_error(connection) : 0
    throw DatabaseError(
      code: code, systemCode: unsafe fileCode != 0 ? fileCode : sqlite3_system_errno(connection), message)
  }
}

/// A prepared SQL statement.
@safe final class Statement {
  private let statement: OpaquePointer
  /// The database is held because a statement must not outlive its connection.
  private let database: Database

  fileprivate init(_ statement: OpaquePointer, of database: Database) {
    unsafe self.statement = statement
    self.database = database
  }

  deinit { unsafe sqlite3_finalize(statement) }

  /// Runs the statement to its end, with these values for its question marks, in their order.
  func run(_ values: Value...) throws(DatabaseError) { try run(values) }

  /// Runs the statement to its end, with these values for its question marks, in their order.
  func run(_ values: [Value]) throws(DatabaseError) {
    try bind(values)
    defer { unsafe sqlite3_reset(statement) }
    while try step() {}
  }

  /// Returns the first column of the first row as a number; nil if there is no row.
  func number(_ values: [Value]) throws(DatabaseError) -> Int64? {
    try bind(values)
    defer { unsafe sqlite3_reset(statement) }
    return try step() ? integer(0) : nil
  }

  /// Binds values for the rows that ``step()`` returns next.
  func begin(_ values: Value...) throws(DatabaseError) { try bind(values) }

  enum Value {
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
  }

  private func bind(_ values: [Value]) throws(DatabaseError) {
    unsafe sqlite3_reset(statement)
    for (position, value) in values.enumerated() {
      let place = CInt(position + 1)
      switch value {
      case .integer(let number): try database.check(unsafe sqlite3_bind_int64(statement, place, number))
      case .text(let text):
        let length = CInt(clamping: text.utf8.count)
        try database.check(unsafe netwatch_bind_text(statement, place, text, length))
      case .bytes(let bytes):
        // An empty array may have no address, which SQLite would take as NULL.
        let code = unsafe bytes.withUnsafeBytes { bytes in
          unsafe bytes.isEmpty
            ? sqlite3_bind_zeroblob(statement, place, 0)
            : netwatch_bind_blob(statement, place, bytes.baseAddress, CInt(clamping: bytes.count))
        }
        try database.check(code)
      }
    }
  }

  /// Advances to the next row. Returns false if there is none.
  func step() throws(DatabaseError) -> Bool {
    let code = unsafe sqlite3_step(statement)
    if code == SQLITE_ROW { return true }
    if code == SQLITE_DONE { return false }
    try database.check(code)
    return false
  }

  func integer(_ column: CInt) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

  /// Returns a column as text. Bytes that are not UTF-8 are replaced.
  func text(_ column: CInt) -> String { String(decoding: bytes(column), as: UTF8.self) }

  func bytes(_ column: CInt) -> [UInt8] {
    guard let start = unsafe sqlite3_column_blob(statement, column) else { return [] }
    let count = unsafe Int(sqlite3_column_bytes(statement, column))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }
}

/// An error of SQLite.
package struct DatabaseError: Error, Hashable, CustomStringConvertible {
  /// The kind of an error, which determines the reaction to it.
  package enum Kind: Hashable, Sendable {
    /// The disk or the quota is full, or the file has reached the largest size that this process may give it (RLIMIT_FSIZE).
    case full
    /// Another process has held the database for longer than the busy timeout.
    case busy
    /// The file is not a database, or its pages are inconsistent.
    case damaged
    /// This process has no permission to read or write the file or its folder.
    case notPermitted
    /// Any other error.
    case other
  }

  /// SQLite's extended result code.
  package let code: CInt
  private let systemCode: CInt
  /// The message of SQLite.
  package let description: String

  /// - Parameter systemCode: The value of `errno` after the system call that failed. Default: 0, none has failed.
  init(code: CInt, systemCode: CInt = 0, _ description: String) {
    self.code = code
    self.systemCode = systemCode
    self.description = description
  }

  /// Returns an error for the result of a failed check of the pages.
  static func damaged(_ message: String) -> DatabaseError { DatabaseError(code: SQLITE_CORRUPT, message) }

  private var lacksRoom: Bool { SystemError(operation: "write", code: systemCode).isLackOfRoom }

  /// The kind of the error, from its code.
  package var kind: Kind {
    switch code & 0xff {
    case SQLITE_FULL: .full
    case SQLITE_IOERR where lacksRoom, SQLITE_CANTOPEN where lacksRoom: .full
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_NOTADB, SQLITE_CORRUPT: .damaged
    case SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH, SQLITE_CANTOPEN: .notPermitted
    default: .other
    }
  }
}
