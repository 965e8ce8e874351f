import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The location of a log: `log.sqlite` in a folder that belongs to netwatch alone.
package struct LogPlace: Hashable, Sendable {
  /// The path of the folder.
  package let folder: String
  /// The name of the database in the folder.
  let name: String

  /// The standard file in a folder.
  package init(folder: String) { (self.folder, name) = (folder, "log.sqlite") }

  /// A log at a path that a user has given.
  package init(path: String) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    name = String(parts.last ?? "")
    folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") : "."
  }

  /// The path of the database.
  package var file: String { "\(folder)/\(name)" }
  /// The name of the file whose locks show which writers exist.
  static let lock = "log.lock"

  /// The log of the system's service, in /var/lib/netwatch.
  package static let system = LogPlace(folder: "/var/lib/netwatch")

  /// Returns the location of the log for this user. The folder is the one that systemd has created for a service
  /// (`$STATE_DIRECTORY`), else `$XDG_STATE_HOME/netwatch`, else `~/.local/state/netwatch`, as in the XDG Base Directory
  /// Specification.
  ///
  /// - Throws: A `PlainError` if none of the variables gives a folder.
  package static func standard() throws(PlainError) -> LogPlace {
    // systemd separates several folders by colons.
    let given = String(environment: "STATE_DIRECTORY").flatMap { $0.split(separator: ":").first }
    if let given, given.hasPrefix("/") { return LogPlace(folder: String(given)) }
    guard let state = UserFolder.state else {
      throw PlainError("there is no folder for the log; set HOME or XDG_STATE_HOME")
    }
    return LogPlace(folder: "\(state)/netwatch")
  }

  /// Returns the log to read: the standard one, or that of the system's service if the standard one does not exist. Throws a
  /// `PlainError` if no variable gives a folder and the system's log cannot be read.
  package static func forReading() throws(PlainError) -> LogPlace {
    let place: LogPlace
    do throws(PlainError) {
      place = try standard()
    } catch {
      guard unsafe access(system.file, R_OK) == 0 else { throw error }
      return system
    }
    if unsafe access(place.file, F_OK) == 0 { return place }
    return unsafe access(system.file, R_OK) == 0 ? system : place
  }

  /// Opens the folder, and creates it and those above it with mode 0700 if they are missing. The process's umask must not
  /// restrict that further.
  ///
  /// Nothing is created through what another user could replace, such as when root runs with the `HOME` of another user.
  ///
  /// - Throws: A `PlainError` that says what to do.
  func openFolder() throws(PlainError) -> TrustedPath {
    do throws(TrustedPath.Fault) {
      return try TrustedPath(folder, creatingFolders: 0o700, acceptsOwnGroups: true)
    } catch {
      switch error {
      case .belongsToOthers(let path):
        throw PlainError(
          "the log is not written, because '\(path)' belongs to another user; run netwatch as that user, or set "
            + "XDG_STATE_HOME to a folder of your own (sudo -H sets HOME)")
      case .othersCanWrite, .isShared: throw PlainError("the log is not written, because \(error)")
      case .failed(let path, let reason):
        throw PlainError("cannot make the folder '\(path)' for the log: \(reason.message)")
      }
    }
  }

  /// The way in which the log is read. Root creates nothing in the folder of somebody else, who may have put links there.
  /// SQLite creates a write-ahead log if there is none; then no process writes.
  var readAccess: Database.Access {
    guard geteuid() == 0 else { return .read }
    do throws(TrustedPath.Fault) {
      _ = try TrustedPath(folder)
      return .read
    } catch {
      let hasWriter = unsafe access("\(file)-wal", F_OK) == 0 && access("\(file)-shm", F_OK) == 0
      return hasWriter ? .readCreatingNothing : .readUnchanging
    }
  }

  /// Checks a file of the folder before it is opened, if it exists.
  ///
  /// - Throws: A `PlainError` if it is a link or a device, or if others can write to it.
  func check(_ name: String, in folder: borrowing TrustedPath) throws(PlainError) {
    let path = "\(folder.path)/\(name)"
    let isPlain: Bool
    do throws(TrustedPath.Fault) {
      let file = try TrustedPath(path, acceptsOwnGroups: true)
      // The path is another one if the name is a link.
      isPlain = file.isFile && file.path == path
    } catch {
      if case .failed(path, let reason) = error, reason.code == ENOENT { return }
      throw PlainError("the log is not written, because \(error)")
    }
    guard isPlain else {
      throw PlainError("the log is not written, because '\(path)' is not a regular file; move it away")
    }
  }
}
