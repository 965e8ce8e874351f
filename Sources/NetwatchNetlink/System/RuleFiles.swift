import CLinux
import Glibc
import Netwatch
import NetwatchEventLoop

/// The files of rules of this machine and of the user who runs this process: `rules`, and the files of `rules.d` in the order of
/// their names, in `/etc/netwatch` and then in the user's folder. Later statements count more.
///
/// Only files are read that nobody but root and the user can change (``TrustedPath``). Root, and a service for all, read only
/// `/etc/netwatch`. The files belong to the thread of the loop that follows them.
package final class RuleFiles {
  /// The readers of the rules.
  package enum Reader { case user, service }

  /// No file of rules is longer. A longer one is a mistake.
  private static let longest = 1 << 20

  /// All rules.
  package private(set) var rules = NetworkRules()
  /// The rules of the machine, without those of the user.
  private var machineRules = NetworkRules()
  private let folders: [String]
  private let say: (_ sentence: String) -> Void
  /// What was reported. Each fault is reported once.
  private var said: Set<String> = []
  /// The faults of the files as they were read last.
  package private(set) var faults: [NetworkRules.Fault] = []
  private var watch: PathWatch?

  /// Reads the files.
  ///
  /// - Parameter say: The closure that gets a sentence for each fault, once. Default: to standard error.
  package init(for reader: Reader, say: @escaping (_ sentence: String) -> Void = StandardError.tell) {
    self.say = say
    var folders = ["/etc/netwatch"]
    if reader == .user, let folder = Self.userFolder { folders.append(folder) }
    self.folders = folders
    read()
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
    let before = rules
    watch(on: loop, changed)
    if rules != before { changed() }
  }

  package func stop() { watch = nil }

  /// Watches the files, and reads them: they may have changed before they were watched.
  private func watch(on loop: EventLoop, _ changed: @escaping () -> Void) {
    var watched: [String]
    repeat {
      // A link in rules.d leads to a file elsewhere, which is watched too.
      watched = files
      do throws(SystemError) {
        watch = try PathWatch(
          of: folders.map { "\($0)/rules" } + files, folders: folders.map { "\($0)/rules.d" }, on: loop
        ) { [unowned self] in
          let (rulesBefore, filesBefore) = (rules, files)
          read()
          if files != filesBefore { watch(on: loop, changed) }
          if rules != rulesBefore { changed() }
        }
      } catch {
        say("changes of the rules in \(folders.joined(separator: " and ")) are not noticed: \(error.message)")
        return
      }
      read()
    } while files != watched
  }

  // MARK: Reading

  /// The files of the folders `rules.d` that were read last.
  private var files: [String] = []

  private func read() {
    rules = NetworkRules()
    faults = []
    files = []
    for folder in folders {
      read("\(folder)/rules")
      for file in list("\(folder)/rules.d") {
        files.append(file)
        read(file)
      }
      if folder == folders.first { machineRules = rules }
    }
    for fault in faults where said.insert(fault.description).inserted { say(fault.description) }
  }

  private func read(_ path: String) {
    do throws(TrustedPath.Fault) {
      let file = try TrustedPath(path)
      guard file.isFile else { return add(path, "it is not a file; no rule of it counts") }
      guard let bytes = try Self.bytes(of: file) else { return add(path, "it is too long; no rule of it counts") }
      faults += rules.read(bytes, of: path)
    } catch {
      add(path, error)
    }
  }

  private func list(_ path: String) -> [String] {
    do throws(TrustedPath.Fault) {
      return try TrustedPath(path).fileNames().map { "\(path)/\($0)" }
    } catch {
      add(path, error)
      return []
    }
  }

  private func add(_ path: String, _ fault: TrustedPath.Fault) {
    if case .failed(let place, let error) = fault {
      // In a home that is closed to this user, as that of root after setpriv(1), nobody has written rules for the user.
      if error.code == ENOENT || error.code == EACCES && place != path { return }
    }
    add(path, "\(fault); no rule of it counts")
  }

  private func add(_ path: String, _ message: String) {
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
          let length = unsafe Glibc.read(descriptor.rawValue, buffer.baseAddress, buffer.count)
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
