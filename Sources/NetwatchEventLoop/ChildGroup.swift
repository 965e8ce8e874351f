import CLinux
import NetwatchLibC

/// A child that leads a process group, which can be ended with all that it has started.
///
/// The number of a group is that of its leader. It can belong to other processes as soon as the group is empty and the leader
/// has been waited for. So a group that is to end is signalled only while its leader is running or not yet waited for.
package final class ChildGroup {
  /// The time from the end of the leader to the first look for other processes of the group. It doubles with each look.
  private static let firstPause = Duration.milliseconds(10)
  /// The time that killed processes have to end. One that waits for a device may never do.
  private static let patience = Duration.seconds(1)

  private let leader: pid_t
  private let loop: EventLoop
  private let ended: (ProcessEnding) -> Void
  private let descriptor: FileDescriptor
  private var registration: EventLoop.Registration?
  private var timer: LoopTimer?
  private var pause = ChildGroup.firstPause
  /// The time of SIGKILL; nil if the group is not to end.
  private var deadline: Duration?
  private var hasLeaderEnded = false
  private var isKilled = false

  /// Watches a child that was started by ``ChildProcess``.
  ///
  /// - Parameter ended: The closure that is called once, on the loop, with the ending of the leader. After ``end(within:)``, it is
  ///   called when the whole group has ended. Otherwise, other processes of the group may still run, and continue.
  /// - Throws: A `SystemError` if the child cannot be watched. It is killed then, with its group.
  package init(
    _ leader: pid_t, on loop: EventLoop, ended: @escaping (ProcessEnding) -> Void
  ) throws(SystemError) {
    self.leader = leader
    self.loop = loop
    self.ended = ended
    do throws(SystemError) {
      descriptor = try .result(of: "pidfd_open", netwatch_pidfd_open(leader))
      registration = try loop.watch(descriptor.rawValue, for: .readable) { [unowned self] _ in leaderEnded() }
    } catch {
      kill(-leader, SIGKILL)
      _ = ChildProcess.waitForEnd(of: leader)
      throw error
    }
    timer = LoopTimer(on: loop) { [unowned self] in checkProcesses() }
  }

  deinit { if let registration { loop.remove(registration) } }

  /// Ends all processes of the group: by SIGTERM now, and by SIGKILL after `grace` if any of them is left.
  package func end(within grace: Duration) {
    guard deadline == nil else { return }
    kill(-leader, SIGTERM)
    // A process that is stopped gets SIGTERM only when it continues.
    kill(-leader, SIGCONT)
    deadline = loop.now + grace
    timer?.set(at: deadline)
  }

  private func leaderEnded() {
    if let registration { loop.remove(registration) }
    registration = nil
    hasLeaderEnded = true
    if deadline == nil { finish() } else { checkProcesses() }
  }

  /// Looks whether the group still has processes, and kills them when their time is over.
  private func checkProcesses() {
    guard let deadline else { return }
    let now = loop.now
    if now >= deadline, !isKilled {
      kill(-leader, SIGKILL)
      isKilled = true
      pause = Self.firstPause
    }
    guard hasLeaderEnded else { return }
    if now >= deadline + Self.patience || !Self.hasRunningProcess(leader) { return finish() }
    timer?.set(at: isKilled ? now + pause : min(deadline, now + pause))
    pause *= 2
  }

  private func finish() {
    timer = nil
    // A process may have started another one while /proc was read.
    if deadline != nil { kill(-leader, SIGKILL) }
    // Nobody else waits for this child.
    ended(ChildProcess.ending(of: leader) ?? .exited(0))
  }

  /// Returns whether a process of a group runs. A leader that has not been waited for does not count. True if /proc does not
  /// tell.
  private static func hasRunningProcess(_ group: pid_t) -> Bool {
    guard let folder = unsafe opendir("/proc") else { return true }
    defer { unsafe closedir(folder) }
    var seesItself = false
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      guard let process = pid_t(name), let text = FileDescriptor.text(of: "/proc/\(name)/stat") else { continue }
      if process == getpid() { seesItself = true }
      // The name of the program, in parentheses, may contain anything. State, parent and group follow.
      guard let end = text.lastIndex(of: ")") else { continue }
      let fields = text[end...].split(separator: " ")
      if fields.count > 3, pid_t(fields[3]) == group, !["Z", "X"].contains(fields[1]) { return true }
    }
    return !seesItself
  }
}
