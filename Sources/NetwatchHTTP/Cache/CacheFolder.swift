import FoundationEssentials
import NetwatchLibC

/// The folder of a cache, with one file for each answer. Belongs to the cache's thread. Other processes may use the same
/// folder.
///
/// Nothing is known of the content except what is in the folder. A complete file is put there by a rename and never changed.
/// The time of its last change is the time of its last use. A file that is being written is locked, so that the file of a
/// crashed writer can be distinguished from that of an active one.
final class CacheFolder {
  /// The block size of a file system: a file takes at least this many bytes.
  private static let blockSize: Int64 = 4_096
  /// The most answers for one URL that depend on fields of the request (RFC 9111, section 4.1).
  private static let mostVariants = 4
  private static let ending = ".answer"
  private static let draftEnding = ".part"

  private let path: String
  private let capacity: Int64
  private let folder: OpenFile
  /// The used bytes, as far as this process knows.
  private var usage: Int64 = 0
  /// The bytes stored since the last scan of the folder. Other processes may have stored as much.
  private var storedSinceScan: Int64 = 0
  private var drafts: [UInt64: AnswerDraft] = [:]

  /// - Throws: `fileFailed` if the folder cannot be created or opened, or if other users can write to it.
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

  /// Returns the names of the files that may hold an answer for a URL. Two URLs may have the same names.
  private static func names(of url: String) -> [String] {
    let name = OpenFile.fingerprint(url)
    return (0..<mostVariants).map { $0 == 0 ? name + ending : "\(name).\($0)\(ending)" }
  }

  private static func cost(_ size: Int64) -> Int64 { (max(size, 1) + blockSize - 1) / blockSize * blockSize }

  // MARK: Answers

  /// Returns the matching answer for a URL. Removes one that is damaged.
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

  /// Returns an answer whose body was not checked. Removes one with a damaged head.
  private func variant(_ name: String, of url: String) -> CachedAnswer? {
    guard let file = openTrusted(name) else { return nil }
    guard let cached = CachedAnswer.head(of: file) else {
      remove(name, ifItIs: file)
      return nil
    }
    return cached.answer.url == url ? cached : nil
  }

  /// Makes room for an answer. Removes other answers to the same request. If there are too many for the URL, the least recently
  /// used one is replaced.
  ///
  /// - Returns: The name for the file, which may already exist.
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

  /// Removes the answers for a URL, including one that is being stored.
  func remove(_ url: String) {
    cancelDrafts { $0.answer.url == url }
    for name in Self.names(of: url) { remove(named: name) }
  }

  /// Removes the answers that arrived at a time or later, in seconds since 1970, and those that are being stored.
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

  /// Returns the size in bytes, including what other processes have stored.
  func size() -> Int64 {
    _ = scan()
    return usage
  }

  private func remove(named name: String) {
    usage -= costOfFile(name)
    _ = unsafe unlinkat(folder.number, name, 0)
  }

  /// Removes the file unless another one has taken its name in the meantime.
  private func remove(_ name: String, ifItIs file: OpenFile) {
    var (own, named) = (stat(), stat())
    guard unsafe fstat(file.number, &own) == 0,
      unsafe fstatat(folder.number, name, &named, CInt(AT_SYMLINK_NOFOLLOW)) == 0,
      own.st_ino == named.st_ino, own.st_dev == named.st_dev
    else { return }
    remove(named: name)
  }

  /// Returns the size of a file in whole blocks. 0 if there is none.
  private func costOfFile(_ name: String) -> Int64 {
    var status = stat()
    guard unsafe fstatat(folder.number, name, &status, CInt(AT_SYMLINK_NOFOLLOW)) == 0 else { return 0 }
    return Self.cost(Int64(status.st_size))
  }

  // MARK: Drafts

  /// Begins to store an answer. If storing fails at any point, the draft is dropped and nothing is stored.
  func begin(_ id: UInt64, _ answer: StoredAnswer) {
    let name = "\(OpenFile.fingerprint("\(id) \(getpid())"))\(UInt32.random(in: 0...UInt32.max))\(Self.draftEnding)"
    let descriptor = unsafe openat(
      folder.number, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return }
    let file = OpenFile(owning: descriptor)
    // An answer that takes more than half of the capacity would push out too many others.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0,
      let draft = try? AnswerDraft(answer, file, named: name, limit: capacity / 2)
    else { return drop(name) }
    drafts[id] = draft
  }

  func append(_ bytes: [UInt8], to id: UInt64) {
    guard let draft = drafts[id] else { return }
    do throws(HTTPError) { try draft.append(bytes) } catch { cancel(id) }
  }

  /// Completes an answer, which replaces the previous one.
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

  /// Replaces the head of an answer. The file is copied, so that readers, or a crash, leave either the old or the new one.
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

  /// Removes the least recently used answers if the capacity is exceeded. Then a tenth is left free, so that not every new
  /// answer requires another scan of the folder.
  func prune() {
    let entries = scan()
    guard usage > capacity else { return }
    for entry in entries.sorted(by: { $0.lastUse < $1.lastUse }) where usage > capacity / 10 * 9 {
      remove(named: entry.name)
    }
  }

  /// Scans all files, and removes what crashed processes have left. Files that do not belong to a cache are left alone.
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

  /// Returns all names that could belong to a cache.
  private func names() -> [String] {
    // Another descriptor, because the read position in the folder is part of it.
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

/// A file of a cache that is being written: its head, then its body, then the preface that completes it. Belongs to the cache's
/// thread.
final class AnswerDraft {
  let answer: StoredAnswer
  /// The name of the file in the cache's folder.
  let name: String
  let file: OpenFile
  private let headCount: Int
  private let headSum: UInt32
  private let limit: Int64
  private var bodyCount: Int64 = 0
  private var bodySum = Checksum()

  /// - Parameter limit: The most bytes of the file.
  init(_ answer: StoredAnswer, _ file: OpenFile, named name: String, limit: Int64) throws(HTTPError) {
    guard let head = answer.fileText else {
      throw HTTPError(.fileFailed, "store \(answer.url)", message: "its head is too long")
    }
    self.answer = answer
    self.name = name
    self.file = file
    self.limit = limit
    headCount = head.count
    headSum = Checksum.of(head)
    try file.write(head, at: Int64(AnswerPreface.size), named: name)
  }

  var size: Int64 { Int64(AnswerPreface.size + headCount) + bodyCount }

  /// Appends bytes to the body.
  func append(_ bytes: [UInt8]) throws(HTTPError) {
    guard size + Int64(bytes.count) <= limit else {
      throw HTTPError(.responseTooLarge, "store \(answer.url)", message: "more than \(limit) bytes")
    }
    try file.write(bytes, at: size, named: name)
    unsafe bytes.withUnsafeBytes { unsafe bodySum.add($0) }
    bodyCount += Int64(bytes.count)
  }

  /// Writes the preface, when the body is complete.
  func end() throws(HTTPError) {
    let preface = AnswerPreface(
      headCount: headCount, bodyCount: bodyCount, headSum: headSum, bodySum: bodySum.value)
    try file.write(preface.bytes, at: 0, named: name)
  }
}

/// What was removed from a cache lately, so that no answer comes back that was on its way then. Pure.
struct CacheRemovals {
  /// The most URLs that are remembered. Beyond it, a removal counts for all of them.
  private static let most = 1_000

  /// The number of removals so far.
  private(set) var count: UInt64 = 0
  /// The removal up to which all URLs count as removed.
  private var last: UInt64 = 0
  private var urls: [String: UInt64] = [:]

  mutating func removeAll() {
    count &+= 1
    last = count
    urls = [:]
  }

  mutating func remove(_ removed: [String]) {
    guard urls.count + removed.count <= Self.most else { return removeAll() }
    count &+= 1
    for url in removed { urls[url] = count }
  }

  /// Returns whether a URL was removed after the removal with a number.
  func hasRemoved(_ url: String, since number: UInt64) -> Bool { max(last, urls[url] ?? 0) > number }
}
