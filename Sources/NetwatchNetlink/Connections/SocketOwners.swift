import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Finds the programs that hold sockets, as far as this user may see them in /proc. The time of a search is limited: what is
/// not found in time is searched for from there the next time.
final class SocketOwners {
  enum Owner: Hashable {
    case process(ProgramFigures.Process)
    /// No process that this process may examine holds the socket.
    case unknown
  }

  /// A descriptor of a process.
  private struct Place: Hashable {
    let process: pid_t
    let descriptor: CInt
  }

  /// The most places that are kept for the next search.
  private static let mostFreed = 256

  private let findsUnits: Bool
  /// The places where sockets were found, until the sockets are released; nil if nobody releases them.
  private var places: [UInt32: Place]?
  /// The places of sockets that are gone. The kernel gives the lowest free descriptor to the next socket.
  private var freed: [Place] = []
  /// The owners of the sockets that the last search asked for.
  private var owners: [UInt32: Owner] = [:]
  /// The processes that this search has not examined yet, the newest last; and the sockets that it looks for since its
  /// beginning.
  private var processes: [pid_t] = []
  private var sought: Set<UInt32> = []
  /// The processes that hold some of these sockets, and so probably the next ones.
  private var holders: [pid_t] = []

  /// - Parameters:
  ///   - isTold: Whether ``release(_:)`` is called for each socket that is gone. Then new sockets that take the places of former ones
  ///     are found without a pass over all descriptors of a process. Default: false.
  ///   - findsUnits: Whether the units of the processes are wanted. Default: false.
  init(isTold: Bool = false, findsUnits: Bool = false) {
    places = isTold ? [:] : nil
    self.findsUnits = findsUnits
  }

  /// Notes that a socket is gone.
  func release(_ inode: UInt32) {
    if let place = places?.removeValue(forKey: inode), freed.count < Self.mostFreed { freed.append(place) }
  }

  /// Returns the owner of a socket; nil if it has not been found yet.
  func owner(of inode: UInt32) -> Owner? { owners[inode] }

  /// Searches for the owners of these sockets for at most `time`, and forgets all others.
  func find(_ inodes: some Sequence<UInt32>, within time: Duration) {
    var known: [UInt32: Owner] = [:]
    var wanted: Set<UInt32> = []
    for inode in inodes {
      if let owner = owners[inode] { known[inode] = owner } else { wanted.insert(inode) }
    }
    owners = known
    guard !wanted.isEmpty else { return }
    searchFreed(&wanted)
    guard !wanted.isEmpty else { return }
    let deadline = KernelClock.monotonic.now + time
    for process in holders { search(process, &wanted) }
    if processes.isEmpty {
      processes = Self.allProcesses()
      sought = wanted
    }
    while !wanted.isEmpty, let process = processes.popLast() {
      search(process, &wanted)
      if KernelClock.monotonic.now >= deadline, !processes.isEmpty { return }
    }
    for inode in wanted where sought.contains(inode) { owners[inode] = .unknown }
    processes = []
  }

  private func searchFreed(_ wanted: inout Set<UInt32>) {
    var names: [pid_t: Owner] = [:]
    for place in freed {
      guard let link = FileDescriptor.target(ofLink: "/proc/\(place.process)/fd/\(place.descriptor)"),
        let inode = Self.inode(link.utf8), wanted.remove(inode) != nil
      else { continue }
      let owner = names[place.process] ?? owner(place.process)
      names[place.process] = owner
      owners[inode] = owner
      places?[inode] = place
    }
    freed.removeAll(keepingCapacity: true)
  }

  private func search(_ process: pid_t, _ wanted: inout Set<UInt32>) {
    var found: [UInt32] = []
    Self.forEachSocket(of: process) { inode, descriptor in
      if wanted.remove(inode) != nil {
        found.append(inode)
        places?[inode] = Place(process: process, descriptor: descriptor)
      }
      return !wanted.isEmpty
    }
    if found.isEmpty {
      holders.removeAll { $0 == process }
      return
    }
    if !holders.contains(process) { holders = holders.suffix(15) + [process] }
    let owner = owner(process)
    for inode in found { owners[inode] = owner }
  }

  // MARK: /proc

  /// `NS_GET_USERNS` of <linux/nsfs.h>: returns the user namespace that a namespace belongs to.
  private static let getUserNamespace: UInt = 0xb701

  /// Whether programs that use this network can be seen at all. They cannot if the network belongs to a user namespace around
  /// this one, or if /proc hides all other processes or their descriptors.
  static var canSeePrograms: Bool {
    let network = unsafe open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)
    if network >= 0 {
      let owner = ioctl(network, getUserNamespace)
      let isForeign = owner < 0 && errno == EPERM
      if owner >= 0 { close(owner) }
      close(network)
      if isForeign { return false }
    }
    let ourselves = getpid()
    let processes = allProcesses()
    // The first process of a PID namespace always exists, unless it is hidden.
    guard processes.contains(1) else { return false }
    var isRefused = false
    for process in processes where process != ourselves {
      guard let canSee = canSee(process) else { continue }
      if canSee { return true }
      isRefused = true
    }
    return !isRefused
  }

  /// Whether this process may see the descriptors of another, tested with the first one; nil if there is none.
  private static func canSee(_ process: pid_t) -> Bool? {
    var canSee: Bool?
    let isOpen = unsafe forEachEntry(of: "/proc/\(process)/fd") { name, folder in
      if unsafe name.pointee == CChar(bitPattern: UInt8(ascii: ".")) { return true }
      var byte: CChar = 0
      canSee = unsafe readlinkat(folder, name, &byte, 1) > 0
      return false
    }
    return isOpen ? canSee : false
  }

  /// Returns the processes that this one can see.
  static func allProcesses() -> [pid_t] {
    var processes: [pid_t] = []
    unsafe forEachEntry(of: "/proc") { name, _ in
      if let process = unsafe pid_t(String(cString: name)) { processes.append(process) }
      return true
    }
    return processes
  }

  /// Calls `body` with each socket that a process holds.
  ///
  /// - Parameter body: The closure that returns whether it wants more.
  private static func forEachSocket(of process: pid_t, _ body: (_ inode: UInt32, _ descriptor: CInt) -> Bool) {
    unsafe forEachEntry(of: "/proc/\(process)/fd") { name, folder in
      unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { target in
        guard let place = target.baseAddress else { return false }
        let count = unsafe readlinkat(folder, name, place, target.count)
        let bytes = unsafe UnsafeBufferPointer(rebasing: target[..<max(count, 0)])
        guard let inode = unsafe inode(bytes.lazy.map { UInt8(bitPattern: $0) }) else { return true }
        return unsafe body(inode, CInt(clamping: atol(name)))
      }
    }
  }

  /// Reads the inode from a text such as `socket:[4711]`.
  private static func inode(_ target: some Collection<UInt8>) -> UInt32? {
    let prefix = "socket:[".utf8
    guard target.starts(with: prefix) else { return nil }
    return UInt32(String(decoding: target.dropFirst(prefix.count).prefix { $0 != UInt8(ascii: "]") }, as: UTF8.self))
  }

  private func owner(_ process: pid_t) -> Owner {
    guard let name = Self.name(of: process), let start = Self.start(of: process) else { return .unknown }
    let unit =
      findsUnits ? FileDescriptor.text(of: "/proc/\(process)/cgroup").map { ProcessUnit(cgroup: $0).name } : nil
    return .process(ProgramFigures.Process(id: process, start: start, name: name, unit: unit))
  }

  /// Returns the name that `ps` shows; nil if the process is gone.
  static func name(of process: pid_t) -> String? {
    FileDescriptor.text(of: "/proc/\(process)/comm").flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns the time at which a process was started, in ticks since the start of the machine; nil if it is gone.
  static func start(of process: pid_t) -> UInt64? {
    // The name, which is the second field, may contain spaces and parentheses (proc_pid_stat(5)).
    let fields = FileDescriptor.text(of: "/proc/\(process)/stat")?.split(separator: ")").last?.split(separator: " ")
    return fields.flatMap { $0.count > 19 ? UInt64($0[19]) : nil }
  }

  /// Calls `body` with each entry of a folder.
  ///
  /// - Parameter body: The closure that gets each name and the folder's descriptor, and returns whether it wants more.
  /// - Returns: False if the folder cannot be opened.
  @discardableResult
  private static func forEachEntry(of path: String, _ body: (UnsafePointer<CChar>, CInt) -> Bool) -> Bool {
    guard let folder = unsafe opendir(path) else { return false }
    defer { unsafe closedir(folder) }
    let descriptor = unsafe dirfd(folder)
    while let entry = unsafe readdir(folder) {
      let goesOn = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { name in
        unsafe name.assumingMemoryBound(to: CChar.self).baseAddress.map { unsafe body($0, descriptor) } ?? false
      }
      guard goesOn else { break }
    }
    return true
  }
}
