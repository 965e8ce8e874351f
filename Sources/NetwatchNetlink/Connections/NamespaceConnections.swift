import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The TCP connections of this network namespace, and of those of all other processes if this is the namespace of the first process,
/// and this process may enter the others (CAP_SYS_ADMIN).
///
/// In any other network namespace, only that one counts: who enters one by nsenter(1) wants to see that one.
final class NamespaceConnections {
  /// The sockets of one network namespace. As long as they are open, the kernel keeps the namespace and its interfaces.
  struct Network {
    let scan: ConnectionScan
    let ends: ConnectionEnds
    /// A process in the namespace.
    fileprivate var process: pid_t

    /// - Throws: A `SystemError` if the sockets cannot be opened.
    fileprivate init(of process: pid_t) throws(SystemError) {
      // The ends are subscribed to first, so that an end before the first look is recognized.
      ends = try ConnectionEnds()
      scan = try ConnectionScan()
      self.process = process
    }
  }

  /// The time between two searches for new namespaces.
  private static let searchPause = Duration.seconds(2)
  /// The most other namespaces that are looked at, because each takes two descriptors.
  private static let mostOthers = 256

  private let own: Network
  /// The other namespaces, by the names that the kernel gives them, such as `net:[4026532281]`.
  private var others: [String: Network] = [:]
  /// The names of namespaces that this process may not enter.
  private var closed: Set<String> = []
  private var nextSearch = Duration.zero
  /// The name of this process's namespace. Nil if no others count.
  private let ownName: String?
  /// The way back from another namespace.
  private let home: FileDescriptor

  /// Opens the sockets of this process's own namespace. Throws a `SystemError` if the kernel refuses them.
  init() throws(SystemError) {
    own = try Network(of: getpid())
    let path = Self.path(getpid())
    home = try .result(of: "open", unsafe NetwatchLibC.open(path, O_RDONLY | O_CLOEXEC))
    let name = FileDescriptor.target(ofLink: path)
    // A process that may not come back must not leave.
    let countsOthers = name != nil && name == FileDescriptor.target(ofLink: Self.path(1)) && Self.enter(home)
    ownName = countsOthers ? name : nil
  }

  /// The number of ends for which the kernel has room in each namespace.
  var capacity: Int { own.ends.capacity }

  // MARK: Reading

  /// Lists all connections that leave their network namespace.
  ///
  /// - Returns: Whether the list is complete.
  func readAll(_ body: (ConnectionDecoder.Connection) -> Void) throws(SystemError) -> Bool {
    var isWhole = try own.scan.readAll(body)
    for (name, network) in others {
      do throws(SystemError) {
        if try !network.scan.readAll(body) { isWhole = false }
      } catch {
        close(name)
      }
    }
    return isWhole
  }

  /// Reads the connections that have ended since the last call.
  ///
  /// - Parameter overrun: The closure that is called when ends were lost.
  /// - Returns: The number of messages, in the namespace that had most.
  func readEnds(overrun: () -> Void, _ body: (ConnectionDecoder.Connection) -> Void) throws(SystemError) -> Int {
    var most = try own.ends.read(overrun: overrun, body)
    for (name, network) in others {
      do throws(SystemError) {
        most = max(most, try network.ends.read(overrun: overrun, body))
      } catch {
        close(name)
      }
    }
    return most
  }

  private func close(_ name: String) {
    others[name] = nil
    closed.insert(name)
  }

  // MARK: Other namespaces

  /// Closes the namespaces in which no process is left, and opens new ones.
  ///
  /// - Throws: A `SystemError` if the thread is in another namespace now.
  func update(at now: Duration) throws(SystemError) {
    guard let ownName else { return }
    let hasLost = others.contains { name, network in
      FileDescriptor.target(ofLink: Self.path(network.process)) != name
    }
    guard hasLost || now >= nextSearch else { return }
    nextSearch = now + Self.searchPause
    var found: [String: pid_t] = [:]
    for process in SocketOwners.allProcesses() {
      if let name = FileDescriptor.target(ofLink: Self.path(process)), name != ownName { found[name] = process }
    }
    others = others.filter { found[$0.key] != nil }
    closed.formIntersection(found.keys)
    for (name, process) in found where !closed.contains(name) {
      if others[name] != nil {
        others[name]?.process = process
      } else if others.count < Self.mostOthers {
        others[name] = try open(process)
        if others[name] == nil { closed.insert(name) }
      }
    }
  }

  /// Opens the sockets of a process's namespace. Nil if that is not possible.
  private func open(_ process: pid_t) throws(SystemError) -> Network? {
    let descriptor = unsafe NetwatchLibC.open(Self.path(process), O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return nil }
    let there = FileDescriptor(owning: descriptor)
    guard Self.enter(there) else { return nil }
    // A socket belongs to the namespace in which it was made, wherever its owner goes afterwards.
    let network = try? Network(of: process)
    guard Self.enter(home) else { throw .last("setns") }
    return network
  }

  /// Moves this thread into a network namespace. False if it may not.
  private static func enter(_ namespace: borrowing FileDescriptor) -> Bool {
    setns(namespace.rawValue, netwatch_network_namespace) == 0
  }

  private static func path(_ process: pid_t) -> String { "/proc/\(process)/ns/net" }
}
