import CLinux
import Glibc
import NetwatchEventLoop

/// Tells when the socket of a service may have appeared, by inotify: nothing is polled.
///
/// A folder that does not exist is waited for in the nearest one that does.
final class ServiceWatch {
  private static let mask = UInt32(IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private let addresses: [ServiceAddress]
  private let changed: () -> Void
  private var registration: EventLoop.Registration?
  /// The names that matter in each watched folder.
  private var names: [CInt: Set<String>] = [:]

  /// - Parameter changed: called on the loop; the socket need not be there, nor answer yet.
  init(for addresses: [ServiceAddress], on loop: EventLoop, changed: @escaping () -> Void) throws(SystemError) {
    self.loop = loop
    self.addresses = addresses
    self.changed = changed
    descriptor = try .result(of: "inotify_init1", inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK)))
    registration = try loop.watch(descriptor.rawValue, for: .readable) { [unowned self] _ in readEvents() }
    for address in addresses { watch(address.path) }
  }

  deinit { if let registration { loop.remove(registration) } }

  private func watch(_ path: String) {
    var (folder, name) = ServiceAddress(path: path).parts
    while true {
      let number = unsafe inotify_add_watch(descriptor.rawValue, folder, Self.mask)
      if number >= 0 {
        names[number, default: []].insert(name)
        return
      }
      guard errno == ENOENT, folder != "/", folder != "." else { return }
      (folder, name) = ServiceAddress(path: folder).parts
    }
  }

  private func readEvents() {
    var isRelevant = false
    var isMoved = false
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
          let name = unsafe String(
            decoding: buffer[(offset + 16)..<min(offset + 16 + length, count)].prefix { $0 != 0 }, as: UTF8.self)
          offset += 16 + length
          if names[watch]?.contains(name) == true { isRelevant = true }
          if mask & UInt32(IN_IGNORED) != 0 { names[watch] = nil }
          if mask & UInt32(IN_IGNORED | IN_MOVE_SELF | IN_Q_OVERFLOW) != 0 { isMoved = true }
        }
      }
    }
    guard isRelevant || isMoved else { return }
    // A folder on the way may have come or gone.
    for address in addresses { watch(address.path) }
    changed()
  }
}
