import CLibSQLite
import NetwatchEventLoop

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
