import Glibc
import Netwatch
import NetwatchEventLoop

/// Finds out which namespaces this process has of its own, without any privilege.
enum ProcessNamespaces {
  static var own: OwnNamespaces {
    var own = OwnNamespaces()
    if hasOwnUsers { own.insert(.users) }
    if hasOwnNetwork { own.insert(.network) }
    return own
  }

  /// False where /proc does not tell.
  private static var hasOwnUsers: Bool {
    let number = unsafe open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return false }
    let file = FileDescriptor(owning: number)
    // More lines than fit map less than everything too.
    var text = [UInt8](repeating: 0, count: 256)
    let count = unsafe read(file.rawValue, &text, text.count)
    guard count > 0 else { return false }
    return !mapsEveryUser(text[..<count])
  }

  /// One line of three numbers: the first user here, the first one outside, and how many follow. All of them are
  /// 4,294,967,295: the last number is no user.
  static func mapsEveryUser(_ map: ArraySlice<UInt8>) -> Bool {
    let words = map.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    return words.map { UInt32(String(decoding: $0, as: UTF8.self)) } == [0, 0, .max]
  }

  /// The kernel shows the settings of its receive path in the machine's own network namespace alone, and the longest
  /// backlog of a listening socket in each. False where /proc does not tell.
  private static var hasOwnNetwork: Bool {
    unsafe (access("/proc/sys/net/core/somaxconn", F_OK) == 0 && access("/proc/sys/net/core/netdev_budget", F_OK) != 0)
  }
}
