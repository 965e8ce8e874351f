import Glibc

/// How a process has ended, or is to end.
package enum ProcessEnding: Hashable {
  case exited(CInt)
  case killed(signal: CInt)

  /// Ends this process by the same signal, so that a shell sees it and ends its script too; but without a core file, of which
  /// one is enough.
  ///
  /// - Returns: the exit status with which to end otherwise: also where the signal does not end this process.
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
