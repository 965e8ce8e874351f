import CLinux
import FoundationEssentials
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The transfers of one background session, in a folder of the user: `$XDG_STATE_HOME/netwatch/transfers/IDENTIFIER`, otherwise
/// `~/.local/state/netwatch/transfers/IDENTIFIER`.
///
/// Each transfer is a file, ID.json, that is written beside its place and renamed, and flushed to the disk, so that it is whole after a
/// crash and after a loss of power. Whoever changes one holds the lock of the folder meanwhile. Beside it lie the bodies of
/// requests that were made in memory (*.spooled), the body of a response to an upload (ID.answer), and the progress (ID.progress).
///
/// All members can be used from any thread. They wait for the disk.
package struct TransferSpool: Sendable, Hashable {
  /// The identifier of the session.
  package let identifier: String
  package let folder: String

  /// Finds the spool of a session.
  ///
  /// - Parameters:
  ///   - identifier: The identifier of the session. It is encoded, and never a path.
  ///   - creates: Whether the folder is made if it is missing.
  /// - Throws: `badConfiguration` for an identifier that is empty or too long; `fileFailed` if there is no folder for the user's state,
  ///   or if others can write to it.
  package init(_ identifier: String, creates: Bool = true) throws(HTTPError) {
    let name = Self.name(of: identifier)
    guard !identifier.isEmpty, name.utf8.count <= 200 else {
      throw HTTPError(
        .badConfiguration, "open the background session",
        message: "the identifier '\(identifier)' is empty or too long; give it a short name")
    }
    try self.init(identifier, "\(Self.root())/\(name)", creates: creates)
  }

  private init(_ identifier: String, _ folder: String, creates: Bool) throws(HTTPError) {
    self.identifier = identifier
    do throws(TrustedPath.Fault) {
      let place = try TrustedPath(folder, creatingFolders: creates ? 0o700 : nil, acceptsOwnGroups: true)
      guard place.isFolder else {
        throw .failed(path: folder, SystemError(operation: "open", code: ENOTDIR))
      }
      self.folder = place.path
    } catch {
      throw HTTPError(.fileFailed, "open the transfers", message: "\(error)", underlying: error)
    }
  }

  /// The spools of a user.
  package struct Listing: Sendable {
    package var spools: [TransferSpool] = []
    /// Why a spool cannot be used, by the identifier of its session.
    package var refused: [String: HTTPError] = [:]
  }

  /// The spools of all sessions of the user.
  ///
  /// - Throws: `fileFailed` if their folder cannot be read. None is there if there is no such folder.
  package static func all() throws(HTTPError) -> Listing {
    let root = try root()
    guard let names = FileDescriptor.list(ofFolder: root) else {
      guard errno == ENOENT else { throw HTTPError(file: root, "read") }
      return Listing()
    }
    var listing = Listing()
    for name in names.sorted() {
      guard let identifier = Substring(name).percentDecoded, Self.name(of: identifier) == name else { continue }
      do throws(HTTPError) {
        listing.spools.append(try TransferSpool(identifier, "\(root)/\(name)", creates: false))
      } catch {
        listing.refused[identifier] = error
      }
    }
    return listing
  }

  /// The folder of all spools.
  package static func root() throws(HTTPError) -> String {
    guard let state = UserFolder.state else {
      throw HTTPError(
        .fileFailed, "open the transfers", message: "there is no folder for them; set HOME or XDG_STATE_HOME")
    }
    return "\(state)/netwatch/transfers"
  }

  /// The name of a session's folder: letters, digits and `-_` stay, and each other byte becomes `%XX`.
  private static func name(of identifier: String) -> String {
    identifier.utf8.reduce(into: "") { name, byte in
      if byte.isAlphanumeric || "-_".utf8.contains(byte) {
        name.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        name += "%" + (digits.utf8.count < 2 ? "0" : "") + digits
      }
    }
  }

  // MARK: Reading

  /// What is in the spool.
  package struct Content: Sendable {
    /// The transfers, in the order in which they were made.
    package var records: [TransferRecord] = []
    /// The paths of files that are no transfers, or are damaged. They stay where they are.
    package var damaged: [String] = []
  }

  /// Reads all transfers.
  package func content() -> Content {
    var content = Content()
    let decoder = JSONDecoder()
    for name in FileDescriptor.names(inFolder: folder) where name.hasSuffix(".json") {
      switch read(String(name.prefix { $0 != "." }), decoder) {
      case .record(let record): content.records.append(record)
      case .damaged: content.damaged.append("\(folder)/\(name)")
      case .nothing, .notNow: break
      }
    }
    content.records.sort { ($0.number, $0.id) < ($1.number, $1.id) }
    return content
  }

  /// What tells whether a transfer has changed: a record is always a new file.
  private struct Stamp: Hashable, Sendable {
    private let inode: UInt64
    private let seconds: Int
    private let nanoseconds: Int

    init?(_ path: String) {
      var facts = stat()
      guard unsafe lstat(path, &facts) == 0 else { return nil }
      (inode, seconds, nanoseconds) = (UInt64(facts.st_ino), facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec)
    }
  }

  /// The ids of all transfers, with their stamps; nil if the folder cannot be read now.
  private func stamps() -> [String: Stamp]? {
    FileDescriptor.list(ofFolder: folder)?.reduce(into: [:]) { stamps, name in
      guard name.hasSuffix(".json") else { return }
      let id = String(name.dropLast(5))
      if TransferRecord.number(of: id) != nil { stamps[id] = Stamp("\(folder)/\(name)") }
    }
  }

  /// Whether a transfer is certainly not there any more.
  func isGone(_ id: String) -> Bool { unsafe access(path(id, "json"), F_OK) != 0 && errno == ENOENT }

  /// The transfer with an id; nil if there is none that can be read.
  package func record(_ id: String) -> TransferRecord? {
    if case .record(let record) = read(id, JSONDecoder()) { record } else { nil }
  }

  /// What is in the file of a record.
  private enum Reading {
    case record(TransferRecord)
    /// It is gone, or for a newer netwatch.
    case nothing
    case damaged
    /// The system has no descriptor or no memory for it now.
    case notNow
  }

  private func read(_ id: String, _ decoder: JSONDecoder) -> Reading {
    guard TransferRecord.number(of: id) != nil else { return .damaged }
    let path = path(id, "json")
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard number >= 0 else { return errno == ENOENT ? .nothing : SystemError.isPassing(errno) ? .notNow : .damaged }
    let file = OpenFile(owning: number)
    guard file.isOurs, let size = file.size(), size <= Self.mostBytes else { return .damaged }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    let count = try? unsafe bytes.withUnsafeMutableBytes { try unsafe file.read(into: $0, at: 0, named: path) }
    guard count == bytes.count else { return .notNow }
    let data = Data(bytes)
    if let record = try? decoder.decode(TransferRecord.self, from: data), record.id == id, record.isSound,
      record.version <= TransferRecord.newestVersion
    {
      return .record(record)
    }
    struct Version: Decodable { let version: Int }
    let version = try? decoder.decode(Version.self, from: data).version
    return (version ?? 0) > TransferRecord.newestVersion ? .nothing : .damaged
  }

  /// The transfers of a spool as they were read last. Only what has changed is read again.
  struct Snapshot: Sendable {
    let spool: TransferSpool
    private var known: [String: (stamp: Stamp, record: TransferRecord?)] = [:]

    init(of spool: TransferSpool) { self.spool = spool }

    /// The transfers, in no order.
    var records: [TransferRecord] { known.values.compactMap(\.record) }

    func record(_ id: String) -> TransferRecord? { known[id]?.record }

    /// Reads what has changed.
    ///
    /// - Returns: Whether everything could be read. If not, the snapshot keeps what it had, and it has to be tried again.
    mutating func refresh() -> Bool {
      guard let stamps = spool.stamps() else { return false }
      var isWhole = true
      let decoder = JSONDecoder()
      known = known.filter { stamps[$0.key] != nil }
      for (id, stamp) in stamps where known[id]?.stamp != stamp {
        switch spool.read(id, decoder) {
        case .record(let record): known[id] = (stamp, record)
        case .nothing, .damaged: known[id] = (stamp, nil)
        case .notNow: isWhole = false
        }
      }
      return isWhole
    }
  }

  /// The largest record, so that a file of somebody's cannot fill the memory.
  private static let mostBytes = 4 * 1_024 * 1_024

  // MARK: Writing

  /// Stores a new transfer, and gives it its id.
  ///
  /// - Parameter make: Makes the record from its id.
  package func insert(_ make: (_ id: String) throws(HTTPError) -> TransferRecord) throws(HTTPError) -> TransferRecord {
    try locked { lock throws(HTTPError) in
      let numbers = FileDescriptor.names(inFolder: folder).compactMap { name in
        TransferRecord.number(of: name.prefix { $0 != "." })
      }
      // The numbers of transfers that were removed are not used again.
      let last = max(numbers.max() ?? 0, lock.number)
      let record = try make(TransferRecord.id(after: last))
      guard TransferRecord.number(of: record.id) != nil else {
        throw HTTPError(.fileFailed, "store the transfer", message: "there are no more numbers in \(folder)")
      }
      lock.keep(record.number)
      try write(record)
      return record
    }
  }

  /// Changes a transfer. Does nothing if it is gone.
  ///
  /// - Returns: The transfer as it is now; nil if it is gone.
  @discardableResult
  package func change(_ id: String, _ body: (inout TransferRecord) -> Void) throws(HTTPError) -> TransferRecord? {
    try locked { _ throws(HTTPError) in
      guard let old = record(id) else { return nil }
      var new = old
      body(&new)
      if new != old { try write(new) }
      return new
    }
  }

  /// Removes a transfer that has ended and of which everybody knows, with all that belongs to it.
  package func remove(_ id: String) throws(HTTPError) {
    try locked { _ throws(HTTPError) in
      if let record = record(id), record.isSpooled { unsafe unlink(record.file) }
      // The record goes last, so that nothing is left without one.
      for suffix in ["answer", "progress", "json"] { try name("\(id).\(suffix)").remove() }
    }
  }

  /// Removes what programs have left that ended before they could store a transfer: bodies and drafts that no record names, older
  /// than a day. While a record cannot be read, everything stays, because it may name one.
  func removeOrphans() throws(HTTPError) {
    let suspects = FileDescriptor.names(inFolder: folder).filter { name in
      var facts = stat()
      guard name.first?.isNumber == true, !name.hasSuffix(".json"), unsafe lstat("\(folder)/\(name)", &facts) == 0
      else { return false }
      return TransferRecord.now - Double(facts.st_mtim.tv_sec) > Self.orphanAge
    }
    guard !suspects.isEmpty else { return }
    try locked { _ throws(HTTPError) in
      let records = content().records
      let count = FileDescriptor.names(inFolder: folder).count { $0.hasSuffix(".json") }
      guard records.count == count else { return }
      let ids = Set(records.map { Substring($0.id) })
      let bodies = Set(records.filter(\.isSpooled).map(\.file))
      for name in suspects where !ids.contains(name.prefix { $0 != "." }) && !bodies.contains("\(folder)/\(name)") {
        unsafe unlink("\(folder)/\(name)")
      }
    }
  }

  /// In seconds. A program writes a body before it stores the transfer, which takes less.
  private static let orphanAge = 86_400.0

  /// The path of a file that belongs to a transfer.
  package func path(_ id: String, _ suffix: String) -> String { "\(folder)/\(id).\(suffix)" }

  private func name(_ name: String) throws(HTTPError) -> FileName { try FileName("\(folder)/\(name)") }

  private func write(_ record: TransferRecord) throws(HTTPError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(record) else {
      throw HTTPError(.cannotEncodeRequest, "store the transfer", message: "its request is no text")
    }
    let (place, draft) = (try name("\(record.id).json"), try name("\(record.id).new"))
    let file = try OpenFile.createTrusted(draft, rights: 0o600)
    do throws(HTTPError) {
      try file.write(Array(data), at: 0, named: draft.path)
      guard fsync(file.number) == 0 else { throw HTTPError(file: draft.path, "fsync") }
      guard draft.rename(to: place) else { throw HTTPError(file: place.path, "rename") }
    } catch {
      draft.remove()
      throw error
    }
    OpenFile.flushFolder(of: place.path)
  }

  /// Runs `body` while no other process changes the spool.
  private func locked<Value>(_ body: (borrowing LockFile) throws(HTTPError) -> Value) throws(HTTPError) -> Value {
    let lock = try LockFile("\(folder)/lock")
    try lock.wait()
    // A child that was forked at this moment must not hold it.
    defer { lock.giveBack() }
    return try body(lock)
  }
}

/// A file that one process at a time has locked, until it is released or the process ends. The lock is one of an open file description
/// (F_OFD_SETLK of fcntl(2)), so that another process can ask for it without taking it.
package struct LockFile: ~Copyable {
  private let file: OpenFile
  private let path: String

  package init(_ path: String) throws(HTTPError) {
    let number = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw HTTPError(file: path, "open") }
    file = OpenFile(owning: number)
    self.path = path
  }

  /// Waits until no other process has the lock, and takes it.
  package borrowing func wait() throws(HTTPError) {
    while call(netwatch_lock_wait, F_WRLCK) == nil {
      guard errno == EINTR else { throw HTTPError(file: path, "lock") }
    }
  }

  /// Takes the lock unless another process has it.
  ///
  /// - Returns: Whether this process has it now.
  package borrowing func take() -> Bool { call(netwatch_lock_set, F_WRLCK) != nil }

  /// Gives the lock back.
  package borrowing func giveBack() { _ = call(netwatch_lock_set, F_UNLCK) }

  /// Whether another process has the lock. True if that is not known.
  package var isTaken: Bool { call(netwatch_lock_get, F_WRLCK).map { $0.l_type != CShort(F_UNLCK) } ?? true }

  /// Writes the number of this process into the file, for people.
  package borrowing func sign() { keep(Int(getpid())) }

  /// Writes a number into the file, in the place of the one before.
  borrowing func keep(_ number: Int) {
    // In the place of the old one, and not shorter, so that a full disk takes it too.
    let digits = "\(number)"
    let text = String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits + "\n"
    try? file.write(Array(text.utf8), at: 0, named: path)
    fsync(file.number)
  }

  /// The number in the file; 0 if there is none.
  var number: Int {
    FileDescriptor.text(of: path, capacity: 32).flatMap { Int($0) }.map { min(max(0, $0), 999_999_999_999_999) } ?? 0
  }

  /// - Returns: The answer; nil if the call has failed, and `errno` has the reason.
  private borrowing func call(_ command: CInt, _ type: CInt) -> NetwatchLibC.flock? {
    var lock = NetwatchLibC.flock()
    lock.l_type = CShort(type)
    lock.l_whence = CShort(SEEK_SET)
    return unsafe fcntl(file.number, command, &lock) == 0 ? lock : nil
  }
}
