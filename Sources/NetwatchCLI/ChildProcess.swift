import Glibc

/// How a child process begins, and how it has ended.
enum ChildProcess {
  enum Ending: Hashable {
    case exited(CInt)
    case killed(signal: CInt)
  }

  /// Nil while it runs. Known once.
  static func ending(of process: pid_t) -> Ending? { ending(of: process, WNOHANG) }

  /// Nil where it is nobody's child.
  static func waitForEnd(of process: pid_t) -> Ending? { ending(of: process, 0) }

  private static func ending(of process: pid_t, _ options: CInt) -> Ending? {
    var status: CInt = 0
    guard unsafe waitpid(process, &status, options) == process else { return nil }
    // WTERMSIG and WEXITSTATUS, which are macros.
    let signal = status & 0x7f
    return signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal: signal)
  }

  /// Signals that are blocked now.
  static var signalMask: sigset_t {
    var mask = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
    return mask
  }

  /// A child that stands in our place: it blocks and ignores what we did when we began.
  static func prepare(_ attributes: inout posix_spawnattr_t, mask: sigset_t) {
    var mask = mask
    unsafe posix_spawnattr_setsigmask(&attributes, &mask)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
  }

  /// A child of our own: nothing blocked, SIGPIPE not ignored, in a process group that can be ended as a whole.
  static func prepareHook(_ attributes: inout posix_spawnattr_t) {
    var none = sigset_t()
    var pipe = sigset_t()
    unsafe sigemptyset(&none)
    unsafe sigemptyset(&pipe)
    unsafe sigaddset(&pipe, SIGPIPE)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &pipe)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
  }
}

/// Strings as exec wants them.
enum CStrings {
  static var environment: [String] {
    var all: [String] = []
    var place = unsafe environ
    while let text = unsafe place.pointee {
      unsafe all.append(String(cString: text))
      unsafe place += 1
    }
    return all
  }

  static func withArray<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    var pointers = unsafe strings.map { unsafe strdup($0) } + [nil]
    defer { unsafe pointers.forEach { unsafe free($0) } }
    return unsafe body(&pointers)
  }
}
