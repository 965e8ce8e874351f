import Glibc

/// Names of files that lie beside another one while it is made.
enum CompanionName {
  /// What Linux's own file systems allow.
  private static let usualLimit = 255

  /// A path that a suffix can be put behind: the file's own, unless its name would become longer than the file system allows.
  /// Then the end of the name is a checksum of all of it.
  static func base(of path: String, suffix: String) -> String {
    let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
    let (folder, name) = (path[..<start], path[start...])
    let most = limit(in: folder.isEmpty ? "." : String(folder)) - suffix.utf8.count
    guard name.utf8.count > most else { return path }
    let mark = "-" + hexadecimal(checksum(name))
    var head = name
    while head.utf8.count > max(most - mark.utf8.count, 0) { head.removeLast() }
    return folder + head + mark
  }

  private static func limit(in folder: String) -> Int {
    let limit = unsafe pathconf(folder, CInt(_PC_NAME_MAX))
    return limit > 0 ? limit : usualLimit
  }

  /// FNV-1a of 64 bits: it tells names apart, and need not be safe from those who look for two alike.
  private static func checksum(_ text: Substring) -> UInt64 {
    text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }

  private static func hexadecimal(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
