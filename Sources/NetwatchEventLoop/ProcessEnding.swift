import Glibc

/// How a process has ended, or how this process is to end.
package enum ProcessEnding: Hashable, CustomStringConvertible {
  /// The process has exited with a status.
  case exited(CInt)
  /// The process was killed by a signal.
  case killed(signal: CInt)

  /// The exit status or the signal, for people.
  package var description: String {
    switch self {
    case .exited(let status): "exit status \(status)"
    case .killed(let signal): "signal \(signal)"
    }
  }

  /// Ends this process by the same signal, so that a shell sees it and ends its script as well. No core file is written,
  /// because that of the other process is enough.
  ///
  /// - Returns: The status to exit with if the process was not ended: the other's exit status, or 128 plus the signal.
  package func imitate() -> CInt {
    switch self {
    case .exited(let status): return status
    case .killed(let signal):
      var none = rlimit(rlim_cur: 0, rlim_max: 0)
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
      Glibc.signal(signal, SIG_DFL)
      var set = sigset_t()
      unsafe sigemptyset(&set)
      unsafe sigaddset(&set, signal)
      unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
      raise(signal)
      return 128 + signal
    }
  }
}
