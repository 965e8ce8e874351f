import Glibc
import NetwatchEventLoop

/// The user namespace of this process.
enum UserNamespace {
  /// Whether it is another one than the machine's own: not every user of the machine exists in it. False where /proc does not
  /// tell.
  static var isOwn: Bool {
    let number = unsafe open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return false }
    let file = FileDescriptor(owning: number)
    // More lines than one map less than everything, too.
    var text = [UInt8](repeating: 0, count: 256)
    let count = unsafe read(file.rawValue, &text, text.count)
    guard count > 0 else { return false }
    return !mapsEverything(text[..<count])
  }

  /// One line of three numbers: the first user here, the first one outside, and how many follow. All of them are
  /// 4,294,967,295: the last number is no user.
  static func mapsEverything(_ map: ArraySlice<UInt8>) -> Bool {
    let words = map.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    return words.map { UInt32(String(decoding: $0, as: UTF8.self)) } == [0, 0, .max]
  }
}
