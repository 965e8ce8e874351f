import CLinux
import Glibc

/// Tells when what stands at some paths may have come, changed or gone, by inotify: nothing is polled.
///
/// Programs write a file in place, or put another one there by renaming; often it is a symbolic link to where such a program
/// has its own. So each folder on the way is watched, and the file itself too: if one file is mounted over another, as in
/// containers, its folder does not hear of it. A folder that does not exist is waited for in the nearest one that does.
///
/// It belongs to the thread of its loop.
package final class PathWatch {
  /// A file or a folder that the kernel watches.
  private typealias Watch = CInt

  /// As many links as the kernel follows.
  private static let longestWay = 40

  private let paths: [String]
  private let mask: UInt32
  private let changed: () -> Void
  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private var registration: EventLoop.Registration?
  /// The names that matter in each folder; for a file itself, the empty one.
  private var names: [Watch: Set<String>] = [:]

  /// - Parameters:
  ///   - hearsArrivalsOnly: whether nothing is heard of but what comes, or lets itself be opened; a folder that goes takes
  ///     its watch with it. Otherwise also whatever is written, moved away or removed: a busy folder wakes whoever watches
  ///     it for each of these.
  ///   - changed: Called on the loop, once for what happens at once.
  package init(
    of paths: [String], hearsArrivalsOnly: Bool = false, on loop: EventLoop, changed: @escaping () -> Void
  ) throws(SystemError) {
    self.paths = paths
    let arrivals = UInt32(IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
    mask = hearsArrivalsOnly ? arrivals : arrivals | UInt32(IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM)
    self.changed = changed
    self.loop = loop
    descriptor = try .result(of: "inotify_init1", inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK)))
    registration = try loop.watch(descriptor.rawValue, for: .readable) { [unowned self] _ in
      guard readsNews() else { return }
      // The way to a file may be another one now.
      watchAll()
      self.changed()
    }
    watchAll()
  }

  deinit { if let registration { loop.remove(registration) } }

  /// Reads all that has happened.
  ///
  /// - Returns: Whether any of it matters.
  private func readsNews() -> Bool {
    var isRelevant = false
    unsafe withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
      while true {
        let count = unsafe read(descriptor.rawValue, buffer.baseAddress, buffer.count)
        guard count > 0 else { return }
        var offset = 0
        // struct inotify_event: watch (4), mask (4), cookie (4), length of the name (4), name.
        while offset + 16 <= count {
          let watch = unsafe buffer.loadUnaligned(fromByteOffset: offset, as: CInt.self)
          let mask = unsafe buffer.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
          let length = unsafe Int(buffer.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
          let end = min(offset + 16 + length, count)
          let name = unsafe String(decoding: buffer[(offset + 16)..<end].prefix { $0 != 0 }, as: UTF8.self)
          if isNews(watch, mask, name) { isRelevant = true }
          offset = end
        }
      }
    }
    return isRelevant
  }

  private func isNews(_ watch: Watch, _ mask: UInt32, _ name: String) -> Bool {
    // The kernel has lost events.
    if watch < 0 { return true }
    guard let names = names[watch] else { return false }
    return names.contains(name) || mask & UInt32(IN_IGNORED | IN_MOVE_SELF) != 0
  }

  private func watchAll() {
    let old = names
    names = [:]
    for path in paths { watchWay(to: path) }
    for watch in old.keys where names[watch] == nil { inotify_rm_watch(descriptor.rawValue, watch) }
  }

  private func watchWay(to path: String) {
    var path = path
    for _ in 0..<Self.longestWay {
      watchFolder(of: path)
      guard let target = FileDescriptor.target(ofLink: path) else { break }
      path = target.hasPrefix("/") ? target : split(path).folder + "/" + target
    }
    add(path, name: "")
  }

  /// The nearest one that exists: what is missing below it may come.
  private func watchFolder(of path: String) {
    var (folder, name) = split(path)
    while !add(folder, name: name), folder != "/", folder != "." { (folder, name) = split(folder) }
  }

  @discardableResult
  private func add(_ path: String, name: String) -> Bool {
    let watch = unsafe inotify_add_watch(descriptor.rawValue, path, mask)
    guard watch >= 0 else { return false }
    names[watch, default: []].insert(name)
    return true
  }

  private func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = path[..<slash]
    return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
  }
}
