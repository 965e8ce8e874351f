import CLinux
import NetwatchLibC

/// The process of netwatch that has started this one.
enum ParentProcess {
  /// Makes the kernel end this process when netwatch has ended, in whatever way, because nobody needs the result any more.
  static func endWith() {
    _ = netwatch_set_parent_death_signal(SIGKILL)
    // netwatch may have ended before. Its end of the pipe is then closed.
    var reader = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    if unsafe poll(&reader, 1, 0) > 0, reader.revents & Int16(POLLERR) != 0 { _exit(0) }
  }
}
