import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// A network namespace that this process enters: that of another process, or one with a name, as `ip netns` makes them.
///
/// Everything that this process opens and starts after that is in the namespace: sockets, hooks and helpers. Files are not.
package final class ForeignNetwork {
  /// Which namespace is meant.
  package enum Place: Hashable, Sendable, CustomStringConvertible {
    case process(pid_t)
    case named(String)

    /// Reads what users write: the number of a process, or a name.
    @Sendable package static func read(_ text: String) throws(PlainError) -> Place {
      if let number = pid_t(text), number > 0 { return .process(number) }
      let isName = !text.isEmpty && !text.contains("/") && !text.contains("\0") && text != "." && text != ".."
      guard isName, pid_t(text) == nil else { throw PlainError("give the number of a process, or a name of ip netns.") }
      return .named(text)
    }

    package var description: String {
      switch self {
      case .process(let number): "the network namespace of process \(number)"
      case .named(let name): "the network namespace “\(name.sanitizedForTerminal)”"
      }
    }
  }

  /// Where ip-netns(8) keeps the namespaces that have a name.
  private static let folder = "/run/netns"

  /// Which namespace it is.
  package let place: Place
  /// Readable when the process has ended; nil for a name, and before Linux 5.3.
  private let process: CInt?
  private var registration: EventLoop.Registration?
  private var watch: PathWatch?

  /// Moves this process into a namespace. The process must have one thread only.
  ///
  /// An ordinary user may enter the namespace of a process whose user namespace is the user's own, such as that of a container without
  /// root: the user namespace is entered first.
  ///
  /// - Throws: A `PlainError` if there is no such namespace, or this user may not enter it.
  package init(entering place: Place) throws(PlainError) {
    self.place = place
    switch place {
    case .process(let number):
      // Before the namespace, so that the process is still the one whose end is told.
      let descriptor = netwatch_pidfd_open(number)
      process = descriptor >= 0 ? descriptor : nil
      try Self.enter("/proc/\(number)/ns/net", orBy: "/proc/\(number)/ns/user", place)
    case .named(let name):
      process = nil
      try Self.enter("\(Self.folder)/\(name)", orBy: nil, place)
    }
  }

  deinit { if let process { close(process) } }

  private static func enter(_ network: String, orBy users: String?, _ place: Place) throws(PlainError) {
    let network = try open(network, place)
    if setns(network.rawValue, netwatch_network_namespace) == 0 { return }
    guard errno == EPERM, let users else { throw refusal(place) }
    let owner = try open(users, place)
    guard setns(owner.rawValue, netwatch_user_namespace) == 0,
      setns(network.rawValue, netwatch_network_namespace) == 0
    else { throw refusal(place) }
  }

  private static func open(_ path: String, _ place: Place) throws(PlainError) -> FileDescriptor {
    let descriptor = unsafe NetwatchLibC.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor < 0 else { return FileDescriptor(owning: descriptor) }
    guard errno == ENOENT || errno == ESRCH else { throw refusal(place) }
    switch place {
    case .process(let number): throw PlainError("there is no process \(number); give --netns one that runs")
    case .named: throw PlainError("\(place) does not exist; `ip netns` lists those that do")
    }
  }

  private static func refusal(_ place: Place) -> PlainError {
    PlainError(
      "\(place) cannot be entered: \(SystemError(operation: "setns", code: errno).message); run netwatch as its owner or as root"
    )
  }

  /// Calls `body` on the loop, once, when the process has ended or the name is gone.
  ///
  /// - Throws: A `SystemError` if the system has no descriptor left for that.
  package func whenEnded(on loop: EventLoop, _ body: @escaping () -> Void) throws(SystemError) {
    switch place {
    case .process:
      guard let process, registration == nil else { return }
      registration = try loop.watch(process, for: .readable) { [unowned self, unowned loop] _ in
        if let registration { loop.remove(registration) }
        registration = nil
        body()
      }
    case .named(let name):
      let path = "\(Self.folder)/\(name)"
      watch = try PathWatch(of: [path], on: loop) { [unowned self] in
        guard unsafe access(path, F_OK) != 0 else { return }
        watch = nil
        body()
      }
      // It may have ended before.
      if unsafe access(path, F_OK) != 0 { loop.schedule(after: .zero, body) }
    }
  }
}
