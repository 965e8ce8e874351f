import CLinux
import Glibc
import NetwatchEventLoop

/// Tells when the files change that host names are looked up by, by inotify: nothing is polled.
///
/// Programs that manage them write them in place, or put another one there by renaming; often the file is a symbolic link
/// to where such a program has its own. So each folder on the way is watched, and the file itself too: where one file
/// is mounted over another, as in containers, its folder does not hear of it.
package final class ResolverConfigurationWatch {
  /// Everything but reading. A folder that goes takes its watch with it.
  private static let mask = UInt32(
    IN_CREATE | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF)
  /// As many links as the kernel follows.
  private static let longestWay = 40

  private let paths: [String]
  private let changed: () -> Void
  private var events: FileEvents?
  /// The names that matter in each folder; for a file itself, the empty one.
  private var names: [FileEvents.Watch: Set<String>] = [:]

  /// - Parameter changed: called on the loop, once for what happens at once.
  package init(
    of paths: [String] = ["/etc/resolv.conf", "/etc/hosts"], on loop: EventLoop, changed: @escaping () -> Void
  ) throws(SystemError) {
    self.paths = paths
    self.changed = changed
    events = try FileEvents(on: loop) { [unowned self] in handle($0) }
    watchAll()
  }

  private func handle(_ events: [FileEvents.Event]) {
    let isRelevant = events.contains { event in
      guard let watch = event.watch else { return true }
      guard let names = names[watch] else { return false }
      return names.contains(event.name) || event.mask & UInt32(IN_IGNORED | IN_MOVE_SELF) != 0
    }
    guard isRelevant else { return }
    // The way to a file may be another one now.
    watchAll()
    changed()
  }

  private func watchAll() {
    let old = names
    names = [:]
    for path in paths { watchWay(to: path) }
    for watch in old.keys where names[watch] == nil { events?.remove(watch) }
  }

  private func watchWay(to path: String) {
    var path = path
    for _ in 0..<Self.longestWay {
      watchFolder(of: path)
      guard let target = linkTarget(of: path) else { break }
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
    guard let watch = try? events?.watch(path, for: Self.mask) else { return false }
    names[watch, default: []].insert(name)
    return true
  }

  private func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = path[..<slash]
    return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
  }

  private func linkTarget(of path: String) -> String? {
    var target = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink(path, &target, target.count)
    return count > 0 ? String(decoding: target[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
  }
}
