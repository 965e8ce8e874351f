import CLinux
import Glibc

/// A child that leads a process group. When this object is released, the group is killed, and the child is waited for.
///
/// It works whatever the surrounding program does with SIGCHLD or its other children, because it waits only for this child.
package final class OwnChild {
  private let process: pid_t
  /// What to wait for. The number of a process may belong to another process, if other code has waited for this child.
  private let kind: idtype_t
  private let id: id_t
  private let descriptor: CInt

  /// P_PIDFD, since Linux 5.4.
  private static let byDescriptor: UInt32 = 3

  /// Takes a child by the number of its process.
  package init(_ process: pid_t) {
    self.process = process
    descriptor = netwatch_pidfd_open(process)
    var information = unsafe siginfo_t()
    let kind = idtype_t(Self.byDescriptor)
    let isKnown =
      descriptor >= 0
      && (unsafe waitid(kind, id_t(descriptor), &information, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != EINVAL)
    (self.kind, id) = isKnown ? (kind, id_t(descriptor)) : (P_PID, id_t(process))
  }

  deinit {
    // Check whether the child still has its number, which it keeps until it is waited for.
    if wait(WEXITED | WNOHANG | WNOWAIT) {
      kill(-process, SIGKILL)
      while !wait(WEXITED), errno == EINTR {}
    }
    if descriptor >= 0 { close(descriptor) }
  }

  private func wait(_ options: CInt) -> Bool {
    var information = unsafe siginfo_t()
    return unsafe waitid(kind, id, &information, options) == 0
  }
}
