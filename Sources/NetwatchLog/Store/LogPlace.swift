import Glibc
import Netwatch
import NetwatchEventLoop

/// The location of a log: `log.sqlite` in a folder that belongs to netwatch alone.
package struct LogPlace: Hashable, Sendable {
  /// The path of the folder.
  package let folder: String
  private let name: String

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
  /// The path of the file whose locks show which writers exist.
  var lock: String { "\(folder)/log.lock" }

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
    // The specification calls relative paths invalid and requires to ignore them.
    if let state = String(environment: "XDG_STATE_HOME"), state.hasPrefix("/") {
      return LogPlace(folder: "\(state)/netwatch")
    }
    guard let home = String(environment: "HOME"), home.hasPrefix("/") else {
      throw PlainError("there is no folder for the log; set HOME or XDG_STATE_HOME")
    }
    return LogPlace(folder: "\(home)/.local/state/netwatch")
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

  /// Creates the folder and those above it, each with mode 0700. The process's umask must not restrict that further.
  func makeFolder() throws(PlainError) {
    var end = folder.startIndex
    while end < folder.endIndex {
      end = folder[folder.index(after: end)...].firstIndex(of: "/") ?? folder.endIndex
      let part = String(folder[..<end])
      guard unsafe mkdir(part, 0o700) != 0, errno != EEXIST else { continue }
      let code = errno
      // On a read-only file system, an existing folder gives that error.
      var status = stat()
      if unsafe stat(part, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { continue }
      throw PlainError(unsafe "cannot make the folder '\(part)' for the log: \(String(cString: strerror(code)))")
    }
    // A folder that another program has created may be open to other users. systemd's folder already has this mode.
    _ = unsafe chmod(folder, 0o700)
  }
}
