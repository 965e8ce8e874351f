import CLinux
import Glibc
import NetwatchEventLoop

/// Tells when the socket of a service may have appeared, by inotify: nothing is polled.
///
/// A folder that does not exist is waited for in the nearest one that does.
final class ServiceWatch {
  private static let mask = UInt32(IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

  private let addresses: [ServiceAddress]
  private let changed: () -> Void
  private var events: FileEvents?
  /// The names that matter in each watched folder.
  private var names: [FileEvents.Watch: Set<String>] = [:]

  /// - Parameter changed: called on the loop; the socket need not be there, nor answer yet.
  init(for addresses: [ServiceAddress], on loop: EventLoop, changed: @escaping () -> Void) throws(SystemError) {
    self.addresses = addresses
    self.changed = changed
    events = try FileEvents(on: loop) { [unowned self] in handle($0) }
    for address in addresses { watch(address.path) }
  }

  private func watch(_ path: String) {
    var (folder, name) = ServiceAddress(path: path).parts
    while true {
      do throws(SystemError) {
        if let watch = try events?.watch(folder, for: Self.mask) { names[watch, default: []].insert(name) }
        return
      } catch {
        guard error.code == ENOENT, folder != "/", folder != "." else { return }
        (folder, name) = ServiceAddress(path: folder).parts
      }
    }
  }

  private func handle(_ events: [FileEvents.Event]) {
    var isRelevant = false
    for event in events {
      guard let watch = event.watch else {
        isRelevant = true
        continue
      }
      if names[watch]?.contains(event.name) == true || event.mask & UInt32(IN_MOVE_SELF) != 0 { isRelevant = true }
      if event.mask & UInt32(IN_IGNORED) != 0 {
        names[watch] = nil
        isRelevant = true
      }
    }
    guard isRelevant else { return }
    // A folder on the way may have come or gone.
    for address in addresses { watch(address.path) }
    changed()
  }
}
