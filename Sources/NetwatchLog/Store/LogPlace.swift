import Glibc
import Netwatch
import NetwatchEventLoop

/// Where the log lies: `log.sqlite` in a folder that belongs to netwatch alone.
package struct LogPlace: Hashable, Sendable {
  package let folder: String
  private let name: String

  package init(folder: String) { (self.folder, name) = (folder, "log.sqlite") }

  /// A log that a reader names.
  package init(path: String) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    name = String(parts.last ?? "")
    folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") : "."
  }

  package var file: String { "\(folder)/\(name)" }
  /// The file that tells which writers are there.
  var lock: String { "\(folder)/log.lock" }

  /// The folder of the system's service.
  package static let system = LogPlace(folder: "/var/lib/netwatch")

  /// The folder that systemd has made for a service (`$STATE_DIRECTORY`), otherwise `$XDG_STATE_HOME/netwatch`, otherwise
  /// `~/.local/state/netwatch`, as the XDG Base Directory Specification has it.
  ///
  /// - Throws: a sentence if no variable tells a folder.
  package static func standard() throws(PlainError) -> LogPlace {
    // systemd separates several folders by colons.
    let given = String(environment: "STATE_DIRECTORY").flatMap { $0.split(separator: ":").first }
    if let given, given.hasPrefix("/") { return LogPlace(folder: String(given)) }
    // The specification says that a relative path is invalid and to be ignored.
    if let state = String(environment: "XDG_STATE_HOME"), state.hasPrefix("/") {
      return LogPlace(folder: "\(state)/netwatch")
    }
    guard let home = String(environment: "HOME"), home.hasPrefix("/") else {
      throw PlainError("there is no folder for the log; set HOME or XDG_STATE_HOME")
    }
    return LogPlace(folder: "\(home)/.local/state/netwatch")
  }

  /// The log that a reader means: the standard one, or that of the system's service if the former is not there.
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

  /// Makes the folder and those above it, each with mode 0700. The umask of the process must let that be.
  func makeFolder() throws(PlainError) {
    var end = folder.startIndex
    while end < folder.endIndex {
      end = folder[folder.index(after: end)...].firstIndex(of: "/") ?? folder.endIndex
      let part = String(folder[..<end])
      guard unsafe mkdir(part, 0o700) != 0, errno != EEXIST else { continue }
      let code = errno
      // On a read-only file system, a folder that is there gives that error.
      var status = stat()
      if unsafe stat(part, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { continue }
      throw PlainError(unsafe "cannot make the folder '\(part)' for the log: \(String(cString: strerror(code)))")
    }
    // A folder that somebody else has made may be open to others. systemd's own has its mode already.
    _ = unsafe chmod(folder, 0o700)
  }
}
