import CLinux
import Glibc

/// A child that leads a process group. When this goes, the group is ended, and the child taken back from the kernel.
///
/// Whatever the program around us does with SIGCHLD, or with its other children, it stays as it is: this waits for the one
/// child alone.
package final class OwnChild {
  private let process: pid_t
  /// What to wait for. A number of a process may be another one's, if somebody else has waited for ours.
  private let kind: idtype_t
  private let id: id_t
  private let descriptor: CInt

  /// P_PIDFD, since Linux 5.4.
  private static let byDescriptor: UInt32 = 3

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
    // Whether it still has its number: it keeps that until it is waited for.
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
