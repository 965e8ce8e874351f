import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The place where a machine keeps its identity and the lines that wait for the broker: `$STATE_DIRECTORY`, which systemd sets, otherwise
/// `$XDG_STATE_HOME/netwatch/mqtt`, otherwise for root the folder of the unit, and for others `~/.local/state/netwatch/mqtt`.
package final class FleetInstance: Sendable {
  /// The folder that systemd passes to the unit, so that root sees the identity that the unit has, or will have.
  private static let folderOfUnit = "/var/lib/netwatch-mqtt"

  /// The folder, which only this user can write, or root and the user of the unit.
  package let folder: String
  /// Whether the folder belongs to the user of the unit, who exists only while it runs, and not to this user, who is root.
  package let isOfUnit: Bool
  package let machine: MachineID
  /// What people should know, such as that this machine is a copy; nil if that is nothing.
  package let notice: String?
  /// Whoever has its lock speaks for the machine.
  private let lock: FileDescriptor

  /// Reads the identity, and makes one if there is none, or if it is that of the machine whose disk was copied.
  ///
  /// - Parameter isNew: Whether a new identity is made in any case. Default: false.
  /// - Throws: A `PlainError` that says what to do.
  package init(isNew: Bool = false) throws(PlainError) {
    let place = try Self.place()
    folder = place
    isOfUnit = Self.owner(place).map { $0.user != geteuid() } ?? false
    lock = try Self.lock(place)
    defer { Self.handOver(place) }
    let old = try Self.read(folder)
    if let old, !old.isForeign, !isNew {
      (machine, notice) = (old, nil)
      return
    }
    machine = MachineID.new()
    notice = old.map { [machine] in "this machine was \($0), and is \(machine) from now on" }
    do throws(SystemError) {
      // The lines are those of the machine that this one is a copy of.
      if old != nil { unsafe unlink(Self.spool(folder)) }
      try TextFile.replace(Self.file(folder), with: Array("\(machine)\n".utf8))
    } catch {
      throw PlainError("cannot keep the identity in '\(Self.file(folder))': \(error.message)")
    }
  }

  /// The identity that this machine has; nil if it has none yet, or a foreign one.
  package static func current() throws(PlainError) -> MachineID? {
    try read(try place()).flatMap { $0.isForeign ? nil : $0 }
  }

  package var spoolPath: String { Self.spool(folder) }

  private static func file(_ folder: String) -> String { "\(folder)/instance" }
  private static func spool(_ folder: String) -> String { "\(folder)/spool" }

  private static func place() throws(PlainError) -> String {
    let given = String(environment: "STATE_DIRECTORY").flatMap { $0.split(separator: ":").first.map(String.init) }
    let isOfUnit = given == nil && geteuid() == 0 && String(environment: "XDG_STATE_HOME") == nil
    if isOfUnit, owner(folderOfUnit) != nil { return folderOfUnit }
    let own = isOfUnit ? folderOfUnit : UserFolder.state.map { "\($0)/netwatch/mqtt" }
    guard let folder = given ?? own, folder.hasPrefix("/") else {
      throw PlainError("there is no folder for the identity of this machine; set HOME or XDG_STATE_HOME")
    }
    do throws(TrustedPath.Fault) {
      return try TrustedPath(folder, creatingFolders: 0o700, acceptsOwnGroups: true).path
    } catch {
      throw PlainError("the identity of this machine cannot be kept: \(error)")
    }
  }

  private static func owner(_ folder: String) -> (user: uid_t, group: gid_t)? {
    var facts = stat()
    guard unsafe stat(folder, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else { return nil }
    return (facts.st_uid, facts.st_gid)
  }

  /// Gives the files that root has made to the owner of the folder. systemd does so only if the folder has another owner than the unit.
  private static func handOver(_ folder: String) {
    guard let owner = owner(folder), owner.user != geteuid() else { return }
    for path in [file(folder), "\(folder)/lock"] {
      let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      let file = FileDescriptor(owning: descriptor)
      var facts = stat()
      // The owner of the folder may have put another name of a file of root's here.
      guard unsafe fstat(file.rawValue, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_nlink == 1,
        facts.st_uid == geteuid()
      else { continue }
      fchown(file.rawValue, owner.user, owner.group)
    }
  }

  private static func lock(_ folder: String) throws(PlainError) -> FileDescriptor {
    do throws(SystemError) {
      let file = try FileDescriptor.result(
        of: "open", unsafe open("\(folder)/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600))
      guard flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 else { throw .last("lock") }
      return file
    } catch {
      guard error.code != EWOULDBLOCK else {
        throw PlainError("another netwatch mqtt speaks for this machine; end it first")
      }
      throw PlainError("cannot lock '\(folder)': \(error.message)")
    }
  }

  /// - Returns: Nil if there is no identity, or the file has none.
  private static func read(_ folder: String) throws(PlainError) -> MachineID? {
    guard let bytes = FileDescriptor.bytes(of: file(folder), capacity: 64) else {
      guard errno == ENOENT else {
        throw PlainError("cannot read '\(file(folder))': \(SystemError.last("read").message)")
      }
      return nil
    }
    return MachineID(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
  }
}

/// Files that are whole after a crash and after a loss of power.
enum TextFile {
  /// Writes a file beside its place, flushes it, and gives it its name.
  static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
    let draft = "\(path).new"
    unsafe unlink(draft)
    do throws(SystemError) {
      let file = try FileDescriptor.result(
        of: "open", unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600))
      try unsafe FileDescriptor.writeAll(bytes.span.bytes, to: file.rawValue)
      guard fsync(file.rawValue) == 0 else { throw .last("fsync") }
      guard unsafe rename(draft, path) == 0 else { throw .last("rename") }
    } catch {
      unsafe unlink(draft)
      throw error
    }
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if descriptor >= 0 { fsync(FileDescriptor(owning: descriptor).rawValue) }
  }
}
