import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The user to which a service of root switches when it listens. Clients trust a socket on which root listens, and the service
/// itself needs no rights of root.
///
/// Only /etc/passwd is read, because in a static binary getpwnam(3) could load parts of another C library.
struct ServiceUser {
  private let name: String
  private let user: uid_t
  private let group: gid_t

  private static let list = "/etc/passwd"

  init(named name: String) throws(PlainError) {
    if let file = unsafe fopen(Self.list, "re") {
      defer { unsafe fclose(file) }
      while let entry = unsafe fgetpwent(file) {
        guard unsafe String(cString: entry.pointee.pw_name) == name else { continue }
        self.name = name
        (user, group) = unsafe (entry.pointee.pw_uid, entry.pointee.pw_gid)
        return
      }
    }
    throw PlainError("\(Self.list) has no user '\(name)'; add it, or name another with --user")
  }

  /// Switches to the user and the user's group for good. The process also gives up its other groups and all capabilities.
  func become() throws(PlainError) {
    guard geteuid() == 0 else {
      throw PlainError("only root can become '\(name)'; start netwatch as root, or leave --user out")
    }
    guard setgroups(0, nil) == 0, setgid(group) == 0, setuid(user) == 0 else {
      throw PlainError("\(SystemError.last("become '\(name)'"))")
    }
  }
}
