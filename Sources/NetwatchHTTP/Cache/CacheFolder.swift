import FoundationEssentials
import Glibc

/// The folder of a cache, with a file for each answer. Belongs to the cache's thread; other processes may use the same folder.
///
/// The folder itself is all that is known of its content. A file comes there whole, by its rename, and is never changed; the
/// time of its last change is that of its last use. A file that is being written is locked, so that one whose writer has
/// crashed can be told from one whose writer is at work.
final class CacheFolder {
  /// Of a file system; a file takes this many bytes at least.
  private static let blockSize: Int64 = 4_096
  /// Answers of one URL that depend on fields of the request (RFC 9111, section 4.1).
  private static let mostVariants = 4
  private static let ending = ".answer"
  private static let draftEnding = ".part"

  private let path: String
  private let capacity: Int64
  private let folder: OpenFile
  /// In bytes, as far as this process knows.
  private var usage: Int64 = 0
  /// Since the folder was looked at: other processes may have stored as much.
  private var storedSinceScan: Int64 = 0
  private var drafts: [UInt64: AnswerDraft] = [:]

  /// - Throws: `fileFailed` if there can be no such folder, or others can write into it.
  init(_ path: String, capacity: Int64) throws(HTTPError) {
    self.path = path
    self.capacity = max(capacity, 0)
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw HTTPError(.fileFailed, "make the folder \(path)", underlying: error)
    }
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw HTTPError(file: path, "open") }
    folder = OpenFile(owning: descriptor)
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw HTTPError(file: path, "open") }
    guard status.st_uid == geteuid(), status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
      throw HTTPError(
        .fileFailed, "use the folder \(path)",
        message: "others can write into it; use a folder that only you can write into (chmod 700)")
    }
  }

  /// The files that may have an answer of a URL. Two URLs may have the same ones.
  private static func names(of url: String) -> [String] {
    let name = OpenFile.fingerprint(url)
    return (0..<mostVariants).map { $0 == 0 ? name + ending : "\(name).\($0)\(ending)" }
  }

  private static func cost(_ size: Int64) -> Int64 { (max(size, 1) + blockSize - 1) / blockSize * blockSize }

  // MARK: Answers

  /// The answer of a URL that is wanted. One that is damaged is removed.
  func find(_ url: String, where isWanted: (StoredAnswer) -> Bool = { _ in true }) -> CachedAnswer? {
    for name in Self.names(of: url) {
      guard let cached = variant(name, of: url), isWanted(cached.answer) else { continue }
      guard cached.isBodyWhole else {
        remove(name, ifItIs: cached.file)
        return nil
      }
      _ = futimens(cached.file.number, nil)
      return cached
    }
    return nil
  }

  /// With a body that was not looked at. One with a damaged head is removed.
  private func variant(_ name: String, of url: String) -> CachedAnswer? {
    guard let file = openTrusted(name) else { return nil }
    guard let cached = CachedAnswer.head(of: file) else {
      remove(name, ifItIs: file)
      return nil
    }
    return cached.answer.url == url ? cached : nil
  }

  /// Makes room for an answer: no other one answers the same request, and if there are too many for its URL, the one that was
  /// not used for the longest has to go.
  ///
  /// - Returns: The name of its file, which it may have to replace.
  private func takePlace(for answer: StoredAnswer) -> String {
    let names = Self.names(of: answer.url)
    let variants = names.compactMap { name in variant(name, of: answer.url).map { (name: name, cached: $0) } }
    let outdated = variants.filter { $0.cached.answer.overlaps(answer) }.map(\.name)
    for name in outdated.dropFirst() { remove(named: name) }
    let free = names.first { name in !variants.contains { $0.name == name } }
    let oldest = variants.min { $0.cached.file.lastChange() < $1.cached.file.lastChange() }
    return outdated.first ?? free ?? oldest?.name ?? names[0]
  }

  private func openTrusted(_ name: String) -> OpenFile? {
    let descriptor = unsafe openat(folder.number, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    let file = OpenFile(owning: descriptor)
    return file.isOurs ? file : nil
  }

  /// Also one that is being stored.
  func remove(_ url: String) {
    cancelDrafts { $0.answer.url == url }
    for name in Self.names(of: url) { remove(named: name) }
  }

  /// Removes the answers that have come at a time or later, and those that are being stored. In seconds since 1970.
  func removeAll(since time: Int64) {
    cancelDrafts { _ in true }
    for entry in scan() {
      guard let file = openTrusted(entry.name), let cached = CachedAnswer.head(of: file), cached.answer.came < time
      else {
        remove(named: entry.name)
        continue
      }
    }
  }

  /// In bytes, with what other processes have stored.
  func size() -> Int64 {
    _ = scan()
    return usage
  }

  private func remove(named name: String) {
    usage -= costOfFile(name)
    _ = unsafe unlinkat(folder.number, name, 0)
  }

  /// Not if somebody has put another one in its place meanwhile.
  private func remove(_ name: String, ifItIs file: OpenFile) {
    var (own, named) = (stat(), stat())
    guard unsafe fstat(file.number, &own) == 0,
      unsafe fstatat(folder.number, name, &named, CInt(AT_SYMLINK_NOFOLLOW)) == 0,
      own.st_ino == named.st_ino, own.st_dev == named.st_dev
    else { return }
    remove(named: name)
  }

  /// 0 if there is none.
  private func costOfFile(_ name: String) -> Int64 {
    var status = stat()
    guard unsafe fstatat(folder.number, name, &status, CInt(AT_SYMLINK_NOFOLLOW)) == 0 else { return 0 }
    return Self.cost(Int64(status.st_size))
  }

  // MARK: Drafts

  /// Begins to store an answer. If that fails, at any point, there is no draft any more, and nothing is stored.
  func begin(_ id: UInt64, _ answer: StoredAnswer) {
    let name = "\(OpenFile.fingerprint("\(id) \(getpid())"))\(UInt32.random(in: 0...UInt32.max))\(Self.draftEnding)"
    let descriptor = unsafe openat(
      folder.number, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return }
    let file = OpenFile(owning: descriptor)
    // What takes more than half of the room would push out too much.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0,
      let draft = try? AnswerDraft(answer, file, named: name, limit: capacity / 2)
    else { return drop(name) }
    drafts[id] = draft
  }

  func append(_ bytes: [UInt8], to id: UInt64) {
    guard let draft = drafts[id] else { return }
    do throws(HTTPError) { try draft.append(bytes) } catch { cancel(id) }
  }

  /// The answer takes the place of the one that there was.
  func end(_ id: UInt64) {
    guard let draft = drafts[id] else { return }
    do throws(HTTPError) { try draft.end() } catch { return cancel(id) }
    drafts[id] = nil
    let name = takePlace(for: draft.answer)
    let old = costOfFile(name)
    guard unsafe renameat(folder.number, draft.name, folder.number, name) == 0 else { return drop(draft.name) }
    let cost = Self.cost(draft.size)
    usage += cost - old
    storedSinceScan += cost
    if usage > capacity || storedSinceScan > capacity / 8 { prune() }
  }

  func cancel(_ id: UInt64) {
    if let draft = drafts.removeValue(forKey: id) { drop(draft.name) }
  }

  private func cancelDrafts(where condition: (AnswerDraft) -> Bool) {
    for id in drafts.filter({ condition($0.value) }).keys { cancel(id) }
  }

  private func drop(_ name: String) { _ = unsafe unlinkat(folder.number, name, 0) }

  /// Gives an answer a new head. The file is copied: readers of the old one, and a crash, find one or the other.
  func replaceHead(of cached: CachedAnswer, by answer: StoredAnswer, _ id: UInt64) {
    begin(id, answer)
    var position: Int64 = 0
    while position < cached.bodyCount, drafts[id] != nil {
      var part = [UInt8](repeating: 0, count: 256 * 1_024)
      let count = unsafe part.withUnsafeMutableBytes { try? unsafe cached.read(into: $0, at: position) } ?? 0
      guard count > 0 else { return cancel(id) }
      part.removeLast(part.count - count)
      append(part, to: id)
      position += Int64(count)
    }
    end(id)
  }

  // MARK: Room

  private typealias Entry = (name: String, cost: Int64, lastUse: Duration)

  /// Removes the answers that were not used for the longest, if there is no room for all. Then a tenth is left free, so that
  /// not every answer that comes needs another look at the whole folder.
  func prune() {
    let entries = scan()
    guard usage > capacity else { return }
    for entry in entries.sorted(by: { $0.lastUse < $1.lastUse }) where usage > capacity / 10 * 9 {
      remove(named: entry.name)
    }
  }

  /// Looks at all files, and removes what crashed processes have left. Files that are none of a cache are left alone.
  private func scan() -> [Entry] {
    var entries: [Entry] = []
    for name in names() {
      if name.hasSuffix(Self.draftEnding) {
        removeIfAbandoned(name)
        continue
      }
      var status = stat()
      guard name.hasSuffix(Self.ending),
        unsafe fstatat(folder.number, name, &status, CInt(AT_SYMLINK_NOFOLLOW)) == 0
      else { continue }
      entries.append((name, Self.cost(Int64(status.st_size)), OpenFile.lastChange(status)))
    }
    usage = entries.reduce(0) { $0 + $1.cost }
    storedSinceScan = 0
    return entries
  }

  private func removeIfAbandoned(_ name: String) {
    guard !drafts.values.contains(where: { $0.name == name }) else { return }
    guard let file = openTrusted(name), flock(file.number, LOCK_EX | LOCK_NB) == 0 else { return }
    drop(name)
  }

  /// Of all files whose names could be a cache's.
  private func names() -> [String] {
    // Another descriptor: the place in the folder is part of it.
    let descriptor = unsafe openat(folder.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    guard let list = unsafe fdopendir(descriptor) else {
      close(descriptor)
      return []
    }
    defer { unsafe closedir(list) }
    var names: [String] = []
    while let entry = unsafe readdir(list) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
        unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      let digits = name.prefix { $0.isHexDigit }
      if digits.count >= 16, name.dropFirst(digits.count).first == "." { names.append(name) }
    }
    return names
  }
}
