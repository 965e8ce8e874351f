import CLinux
import NetwatchLibC

/// Reports when files at some paths may have appeared, changed or disappeared, by inotify. Nothing is polled.
///
/// Programs write a file in place, or replace it by renaming another; often it is a symbolic link into a folder of the program.
/// So each folder on the way is watched, and also the file itself: if a file is mounted over another, as in containers, its
/// folder gets no event. If a folder does not exist, the nearest existing one above it is watched.
///
/// The watch belongs to the thread of its loop.
package final class PathWatch {
  /// A file or a folder that the kernel watches.
  private typealias Watch = CInt

  /// The most symbolic links that are followed, as in the kernel.
  private static let longestWay = 40

  private let paths: [String]
  /// The folders in which every file matters.
  package var folders: [String] {
    didSet { if folders != oldValue { watchAgain() } }
  }
  private let mask: UInt32
  private let changed: () -> Void
  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private var registration: EventLoop.Registration?
  /// The folders in which each name matters.
  private var wholeFolders: Set<Watch> = []
  /// The names that matter in each folder; the empty name means the file itself.
  private var names: [Watch: Set<String>] = [:]
  /// Tries again what the kernel had no room for.
  private var retry: Retry?
  private var lacksRoom = false
  /// Whether the kernel had room for everything. If not, changes may be missed, until it has.
  package var isWhole: Bool { !lacksRoom }

  /// Starts to watch.
  ///
  /// - Parameters:
  ///   - paths: The paths of the files.
  ///   - folders: The paths of folders in which every file matters. Default: none.
  ///   - hearsWrites: Whether each write to a file is reported, and not only that a writer has closed it. Default: false.
  ///   - hearsArrivalsOnly: Whether only files are reported that appear or become accessible; a folder that disappears ends its
  ///     watch. Otherwise, files that are written, moved away or removed are reported also, and each of these events in a busy
  ///     folder wakes the thread. Default: false.
  ///   - loop: The loop that the watch belongs to.
  ///   - changed: The closure that is called on the loop, once for events that happen together.
  /// - Throws: A ``SystemError`` if the system has no inotify instance or descriptor left.
  package init(
    of paths: [String], folders: [String] = [], hearsWrites: Bool = false, hearsArrivalsOnly: Bool = false,
    on loop: EventLoop,
    changed: @escaping () -> Void
  ) throws(SystemError) {
    self.paths = paths
    self.folders = folders
    let arrivals = UInt32(IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
    let changes = arrivals | UInt32(IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM)
    mask = hearsArrivalsOnly ? arrivals : hearsWrites ? changes | UInt32(IN_MODIFY) : changes
    self.changed = changed
    self.loop = loop
    descriptor = try .result(of: "inotify_init1", inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK)))
    registration = try loop.watch(descriptor.rawValue, for: .readable) { [unowned self] _ in
      guard readsNews() else { return }
      // The way to a file may have changed.
      watchAgain()
      self.changed()
    }
    retry = Retry(on: loop) { [unowned self] in
      watchAll()
      // A change may have been missed. Whoever is told may release this watch.
      let isDone = !lacksRoom
      if isDone { self.changed() }
      return isDone
    }
    watchAgain()
  }

  deinit { if let registration { loop.remove(registration) } }

  /// Reads all events.
  ///
  /// - Returns: Whether any of them matters.
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
    return wholeFolders.contains(watch) || names.contains(name)
      || mask & UInt32(IN_IGNORED | IN_MOVE_SELF) != 0
  }

  private func watchAgain() {
    watchAll()
    if lacksRoom { retry?.beginLater() }
  }

  private func watchAll() {
    let old = names
    names = [:]
    wholeFolders = []
    lacksRoom = false
    for path in paths { watchWay(to: path) }
    for folder in folders { if let watch = watchWay(to: folder) { wholeFolders.insert(watch) } }
    for watch in old.keys where names[watch] == nil { inotify_rm_watch(descriptor.rawValue, watch) }
  }

  /// - Returns: The watch of what is at the end of the way; nil if there is nothing.
  @discardableResult
  private func watchWay(to path: String) -> Watch? {
    var path = path
    for _ in 0..<Self.longestWay {
      watchFolder(of: path)
      guard let target = FileDescriptor.target(ofLink: path) else { break }
      path = target.hasPrefix("/") ? target : split(path).folder + "/" + target
    }
    return add(path, name: "")
  }

  /// Watches the nearest folder that exists, because the missing part below it may appear.
  private func watchFolder(of path: String) {
    var (folder, name) = split(path)
    while add(folder, name: name) == nil, folder != "/", folder != "." { (folder, name) = split(folder) }
  }

  @discardableResult
  private func add(_ path: String, name: String) -> Watch? {
    let watch = unsafe inotify_add_watch(descriptor.rawValue, path, mask)
    guard watch >= 0 else {
      // The user has as many watches as are allowed (ENOSPC), or the kernel has no memory.
      if SystemError.isPassing(errno) { lacksRoom = true }
      return nil
    }
    names[watch, default: []].insert(name)
    return watch
  }

  private func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = path[..<slash]
    return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
  }
}
