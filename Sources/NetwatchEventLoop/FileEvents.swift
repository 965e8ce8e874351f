import CLinux
import Glibc

/// What happens to files and in folders, by inotify.
package final class FileEvents {
  /// A file or a folder that is watched.
  package struct Watch: Hashable, Sendable {
    let number: CInt
  }

  package struct Event: Hashable, Sendable {
    /// Whose it is. Nil where the kernel has lost events.
    package let watch: Watch?
    /// `IN_CREATE` and so on; `IN_IGNORED` where the watch has ended.
    package let mask: UInt32
    /// What it happened to in a watched folder; empty where it happened to the watched thing itself.
    package let name: String
  }

  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private var registration: EventLoop.Registration?

  /// - Parameter handler: called on the loop with all that has happened, in order.
  package init(on loop: EventLoop, _ handler: @escaping ([Event]) -> Void) throws(SystemError) {
    self.loop = loop
    descriptor = try .result(of: "inotify_init1", inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK)))
    registration = try loop.watch(descriptor.rawValue, for: .readable) { [unowned self] _ in
      let events = read()
      if !events.isEmpty { handler(events) }
    }
  }

  deinit { if let registration { loop.remove(registration) } }

  /// Watches what `path` leads to for the events of `mask`. Where it is watched already, the mask is replaced.
  package func watch(_ path: String, for mask: UInt32) throws(SystemError) -> Watch {
    let number = unsafe inotify_add_watch(descriptor.rawValue, path, mask)
    guard number >= 0 else { throw .last("inotify_add_watch") }
    return Watch(number: number)
  }

  /// Harmless where the watch has ended by itself.
  package func remove(_ watch: Watch) { inotify_rm_watch(descriptor.rawValue, watch.number) }

  private func read() -> [Event] {
    var events: [Event] = []
    unsafe withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
      while true {
        let count = unsafe Glibc.read(descriptor.rawValue, buffer.baseAddress, buffer.count)
        guard count > 0 else { return }
        var offset = 0
        // struct inotify_event: watch (4), mask (4), cookie (4), length of the name (4), name.
        while offset + 16 <= count {
          let number = unsafe buffer.loadUnaligned(fromByteOffset: offset, as: CInt.self)
          let mask = unsafe buffer.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
          let length = unsafe Int(buffer.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
          let end = min(offset + 16 + length, count)
          let name = unsafe String(decoding: buffer[(offset + 16)..<end].prefix { $0 != 0 }, as: UTF8.self)
          events.append(Event(watch: number >= 0 ? Watch(number: number) : nil, mask: mask, name: name))
          offset = end
        }
      }
    }
    return events
  }
}
