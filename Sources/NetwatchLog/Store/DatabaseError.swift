import CLibSQLite

/// What SQLite says when it cannot do something.
package struct DatabaseError: Error, Hashable, CustomStringConvertible {
  /// What follows from an error.
  package enum Kind: Hashable, Sendable {
    /// The disk or the quota is full.
    case full
    /// Another process has held the database for longer than the busy timeout.
    case busy
    /// The file is no database, or its pages contradict each other.
    case damaged
    /// The file or its folder may not be read or written.
    case notPermitted
    case other
  }

  /// SQLite's extended result code.
  package let code: CInt
  package let description: String

  init(code: CInt, _ description: String) {
    self.code = code
    self.description = description
  }

  /// What a check of the pages has found.
  static func damaged(_ message: String) -> DatabaseError { DatabaseError(code: SQLITE_CORRUPT, message) }

  package var kind: Kind {
    switch code & 0xff {
    case SQLITE_FULL: .full
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_NOTADB, SQLITE_CORRUPT: .damaged
    case SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH, SQLITE_CANTOPEN: .notPermitted
    default: .other
    }
  }
}
