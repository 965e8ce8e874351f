import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The files of rules of this machine and of the user who runs this process: `rules`, and the files of `rules.d` in the order of
/// their names, in `/etc/netwatch` and then in the user's folder. Later statements count more.
///
/// Only files are read that nobody but root and the user can change (``TrustedPath``). Root, and a service for all, read only
/// `/etc/netwatch`. The files belong to the thread of the loop that follows them.
package final class RuleFiles {
  /// The readers of the rules.
  package enum Reader { case user, service }

  /// All rules.
  package private(set) var rules = NetworkRules()
  /// The rules of the machine, without those of the user.
  private var machineRules = NetworkRules()
  private let folders: [String]
  private let warn: (_ sentence: String) -> Void
  /// What was reported. Each fault is reported once.
  private var said: Set<String> = []
  /// The faults of the files as they were read last.
  package private(set) var faults: [NetworkRules.Fault] = []
  private var watch: PathWatch?
  private var retry: Retry?
  private var changed: () -> Void = {}

  /// Reads the files.
  ///
  /// - Parameter warn: The closure that gets a sentence for each fault, once. Default: to standard error.
  package init(for reader: Reader, warn: @escaping (_ sentence: String) -> Void = StandardError.warn) {
    self.warn = warn
    var folders = ["/etc/netwatch"]
    if reader == .user, let folder = Self.userFolder { folders.append(folder) }
    self.folders = folders
    _ = read(isFirst: true)
  }

  /// Whether the user's files say something that a service, which does not read them, judges otherwise.
  package var differsFromService: Bool { rules.judging != machineRules.judging }

  /// The user's folder, as defined by the XDG Base Directory Specification. Nil for root, and for a program whose environment
  /// may come from another user.
  private static var userFolder: String? {
    guard geteuid() != 0, getauxval(UInt(AT_SECURE)) == 0 else { return nil }
    if let folder = String(environment: "XDG_CONFIG_HOME"), folder.hasPrefix("/") { return folder + "/netwatch" }
    if let home = String(environment: "HOME"), home.hasPrefix("/") { return home + "/.config/netwatch" }
    return nil
  }

  // MARK: Changes

  /// Follows the files from now on, and reads them again.
  ///
  /// - Parameter changed: The closure that is called on the loop when the rules have changed.
  package func follow(on loop: EventLoop, changed: @escaping () -> Void) {
    self.changed = changed
    retry = Retry(on: loop) { [unowned self] in watch(on: loop) }
    retry?.begin()
  }

  package func stop() {
    (retry, watch) = (nil, nil)
    changed = {}
  }

  /// Watches the files, and reads them, because they may have changed before they were watched.
  ///
  /// - Returns: False if the system lacks something for a moment.
  private func watch(on loop: EventLoop) -> Bool {
    let before = (rules, differsFromService)
    var isDone = true
    var watched: [String]
    repeat {
      // A link in rules.d leads to a file elsewhere, which is watched too.
      watched = files
      // The rights of the folders decide whether what lies in them is trusted.
      let made = try? PathWatch(
        of: folders.flatMap { [$0, "\($0)/rules"] } + files, folders: folders.map { "\($0)/rules.d" }, on: loop
      ) { [unowned self] in filesChanged() }
      watch = made ?? watch
      isDone = read() && made != nil
    } while isDone && files != watched
    if (rules, differsFromService) != before { changed() }
    return isDone
  }

  private func filesChanged() {
    let (before, filesBefore) = ((rules, differsFromService), files)
    let isDone = read()
    if (rules, differsFromService) != before { changed() }
    // Other files are to be watched, or the system lacks something for a moment.
    if !isDone || files != filesBefore { retry?.begin() }
  }

  // MARK: Reading

  /// The files of the folders `rules.d` that were read last.
  private var files: [String] = []

  /// Reads all files. If the system lacks something for a moment, such as a descriptor, everything stays as it was.
  ///
  /// - Parameter isFirst: Whether nothing was read before, so that what could be read is better than nothing. Default: false.
  /// - Returns: Whether all were read.
  private func read(isFirst: Bool = false) -> Bool {
    var reading = Reading()
    for folder in folders {
      reading.read("\(folder)/rules")
      reading.readAll(in: "\(folder)/rules.d")
      if folder == folders.first { reading.machineRules = reading.rules }
    }
    guard isFirst || !reading.lacksSomething else { return false }
    (rules, machineRules, files, faults) = (reading.rules, reading.machineRules, reading.files, reading.faults)
    for fault in faults where said.insert(fault.description).inserted { warn(fault.description) }
    return true
  }
}

/// One reading of all files.
private struct Reading {
  /// No file of rules is longer. A longer one is a mistake.
  private static let longest = 1 << 16

  private(set) var rules = NetworkRules()
  var machineRules = NetworkRules()
  private(set) var files: [String] = []
  private(set) var faults: [NetworkRules.Fault] = []
  /// Whether a file could not be read for a reason that passes.
  private(set) var lacksSomething = false

  mutating func read(_ path: String) {
    do throws(TrustedPath.Fault) {
      let file = try TrustedPath(path)
      guard file.isFile else { return add(path, "it is not a file; no rule of it counts") }
      guard let bytes = try Self.bytes(of: file) else {
        return add(path, "it is longer than \(Self.longest / 1_024) KiB; no rule of it counts")
      }
      faults += rules.read(bytes, of: path)
    } catch {
      add(path, error)
    }
  }

  mutating func readAll(in folder: String) {
    do throws(TrustedPath.Fault) {
      for name in try TrustedPath(folder).fileNames() {
        files.append("\(folder)/\(name)")
        read("\(folder)/\(name)")
      }
    } catch {
      add(folder, error)
    }
  }

  private mutating func add(_ path: String, _ fault: TrustedPath.Fault) {
    if case .failed(let place, let error) = fault {
      // In a home that is closed to this user, as that of root after setpriv(1), nobody has written rules for the user.
      if error.code == ENOENT || error.code == EACCES && place != path { return }
      if error.isPassing { lacksSomething = true }
    } else if unsafe access(path, F_OK) != 0 {
      // What is not there needs no trust.
      return
    }
    add(path, "\(fault); no rule of it counts")
  }

  private mutating func add(_ path: String, _ message: String) {
    faults.append(NetworkRules.Fault(file: path, line: nil, message))
  }

  /// Returns what is in a file; nil if that is too long.
  private static func bytes(of file: borrowing TrustedPath) throws(TrustedPath.Fault) -> [UInt8]? {
    do throws(SystemError) {
      let descriptor = try FileDescriptor.result(
        of: "open", unsafe open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK))
      var bytes: [UInt8] = []
      while true {
        var failure: CInt = 0
        let piece = unsafe [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, count in
          let length = unsafe NetwatchLibC.read(descriptor.rawValue, buffer.baseAddress, buffer.count)
          if length < 0 { failure = errno }
          count = max(0, length)
        }
        if failure == EINTR { continue }
        if failure != 0 { throw SystemError(operation: "read", code: failure) }
        if piece.isEmpty { return bytes }
        bytes += piece
        if bytes.count > longest { return nil }
      }
    } catch {
      throw .failed(path: file.path, error)
    }
  }
}
