import CLinux
import NetwatchLibC

/// Starts child processes and waits for their ends.
package enum ChildProcess {
  /// Returns how a process has ended; nil while it runs. The ending can be read only once.
  package static func ending(of process: pid_t) -> ProcessEnding? { ending(of: process, WNOHANG) }

  /// Waits until a process ends and returns how. Nil if it is not a child of this process.
  package static func waitForEnd(of process: pid_t) -> ProcessEnding? { ending(of: process, 0) }

  /// Whether this kernel can report the end of a child to a loop: Linux 5.3 or later.
  package static var canTellEndings: Bool {
    let descriptor = netwatch_pidfd_open(getpid())
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
  }

  /// Calls `body` on the loop, once, when a child has ended.
  ///
  /// - Throws: A `SystemError` if the child cannot be waited for. It is killed then, with its process group.
  package static func whenEnded(
    _ process: pid_t, on loop: EventLoop, _ body: @escaping (ProcessEnding) -> Void
  ) throws(SystemError) {
    let descriptor = netwatch_pidfd_open(process)
    do throws(SystemError) {
      guard descriptor >= 0 else { throw .last("pidfd_open") }
      var registration: EventLoop.Registration?
      registration = try loop.watch(descriptor, for: .readable) { [unowned loop] _ in
        guard let ending = ending(of: process) else { return }
        if let registration { loop.remove(registration) }
        close(descriptor)
        body(ending)
      }
    } catch {
      if descriptor >= 0 { close(descriptor) }
      kill(-process, SIGKILL)
      _ = waitForEnd(of: process)
      throw error
    }
  }

  private static func ending(of process: pid_t, _ options: CInt) -> ProcessEnding? {
    var status: CInt = 0
    guard unsafe waitpid(process, &status, options) == process else { return nil }
    // This is what the macros WTERMSIG and WEXITSTATUS do.
    let signal = status & 0x7f
    return signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal: signal)
  }

  /// The environment of this process.
  package static var environment: [String] {
    var all: [String] = []
    var place = unsafe environ
    while let text = unsafe place.pointee {
      unsafe all.append(String(cString: text))
      unsafe place += 1
    }
    return all
  }

  /// The signals that are blocked in the calling thread.
  package static var signalMask: sigset_t {
    var mask = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
    return mask
  }

  /// Prepares a child that takes the place of this process: it gets the signal mask that this process had at its start.
  package static func prepare(_ attributes: inout posix_spawnattr_t, mask: sigset_t) {
    var mask = mask
    unsafe posix_spawnattr_setsigmask(&attributes, &mask)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
  }

  /// Starts a child with no blocked signals, with the default action for SIGCHLD, and in a process group that can be ended as a
  /// whole. The other signals have the actions that this process found at its start; see ``SignalSource/discard(_:)``.
  ///
  /// - Parameters:
  ///   - program: The path of the program.
  ///   - arguments: The arguments of the program.
  ///   - environment: The environment of the child. Default: that of this process.
  ///   - descriptors: Each descriptor of this process that the child gets, and its number in the child.
  ///   - closesOthers: Whether the child has no descriptors except its standard streams, even if others are not marked as
  ///     close-on-exec. Default: false.
  ///   - inNewSession: Whether the child leads a session of its own, and so outlives the terminal. Default: false.
  /// - Returns: The number of the process.
  /// - Throws: A `SystemError` if the child cannot be started.
  package static func spawn(
    _ program: String, _ arguments: [String], environment: [String] = ChildProcess.environment,
    descriptors: [(ours: CInt, its: CInt)], closesOthers: Bool = false, inNewSession: Bool = false
  ) throws(SystemError) -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      unsafe posix_spawnattr_destroy(&attributes)
    }
    for (ours, its) in descriptors { unsafe posix_spawn_file_actions_adddup2(&actions, ours, its) }
    if closesOthers { unsafe posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1) }
    prepareOwn(&attributes, inNewSession: inNewSession)
    var process = pid_t()
    let code = unsafe ([program] + arguments).withCStrings { arguments in
      unsafe environment.withCStrings { environment in
        unsafe posix_spawn(&process, program, &actions, &attributes, arguments, environment)
      }
    }
    guard code == 0 else { throw SystemError(operation: "posix_spawn", code: code) }
    return process
  }

  private static func prepareOwn(_ attributes: inout posix_spawnattr_t, inNewSession: Bool) {
    var none = sigset_t()
    var ordinary = sigset_t()
    unsafe sigemptyset(&none)
    unsafe sigemptyset(&ordinary)
    // A shell that ignores SIGCHLD does not learn how its children end.
    unsafe sigaddset(&ordinary, SIGCHLD)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &ordinary)
    unsafe posix_spawnattr_setflags(
      &attributes,
      Int16(
        POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
          | (inNewSession ? netwatch_spawn_new_session : CInt(POSIX_SPAWN_SETPGROUP))))
  }
}

extension [String] {
  /// Calls `body` with the strings in the form that exec needs.
  package func withCStrings<Result>(_ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result) -> Result {
    var pointers = unsafe map { unsafe strdup($0) } + [nil]
    defer { unsafe pointers.forEach { unsafe free($0) } }
    return unsafe body(&pointers)
  }
}

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
      NetwatchLibC.signal(signal, SIG_DFL)
      var set = sigset_t()
      unsafe sigemptyset(&set)
      unsafe sigaddset(&set, signal)
      unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
      raise(signal)
      return 128 + signal
    }
  }
}

/// A child that leads a process group. When this object is released, the group is killed, and the child is waited for.
///
/// It works whatever the surrounding program does with SIGCHLD or its other children, because it waits only for this child.
package final class OwnChild {
  private let process: pid_t
  /// What to wait for. The number of a process may belong to another process, if other code has waited for this child.
  private let kind: idtype_t
  private let id: id_t
  private let descriptor: CInt
  private var watch: (loop: EventLoop, registration: EventLoop.Registration)?

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

  /// Calls `body` on the loop, once, when the child has ended, unless this object is released before. If other code has waited for
  /// the child, or the kernel has because SIGCHLD is ignored, its status is not known, and counts as 0.
  ///
  /// - Throws: A `SystemError` if the child cannot be watched.
  package func whenEnded(on loop: EventLoop, _ body: @escaping (ProcessEnding) -> Void) throws(SystemError) {
    let registration = try loop.watch(descriptor, for: .readable) { [unowned self] _ in
      let isThere = wait(WEXITED | WNOHANG | WNOWAIT)
      guard let ending = isThere ? ChildProcess.ending(of: process) : .exited(0) else { return }
      stopWatching()
      body(ending)
    }
    watch = (loop, registration)
  }

  private func stopWatching() {
    if let watch { watch.loop.remove(watch.registration) }
    watch = nil
  }

  deinit {
    stopWatching()
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
