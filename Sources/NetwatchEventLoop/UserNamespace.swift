import Glibc

/// What a user id means in this process. A user namespace maps only some ids; the kernel shows all others as one, 65534.
package enum UserNamespace {
  private static let standardOverflowUser: uid_t = 65_534

  /// Whether not every user of the machine exists here, as in a container without privileges. False where /proc does not tell.
  package static var isOwn: Bool { map.map { !mapsEveryUser($0) } ?? false }

  /// Whether different users may show up here as `user`.
  package static func isAmbiguous(_ user: uid_t) -> Bool {
    let overflow = FileDescriptor.text(of: "/proc/sys/kernel/overflowuid").flatMap { uid_t($0.filter(\.isNumber)) }
    guard user == overflow ?? standardOverflowUser else { return false }
    return !(map.map(mapsEveryUser) ?? false)
  }

  private static var map: String? { FileDescriptor.text(of: "/proc/self/uid_map") }

  /// - Parameter map: the text of a file `uid_map`: lines of the first id here, the first id outside, and their number.
  static func mapsEveryUser(_ map: String) -> Bool {
    map.split(separator: "\n").contains { line in
      let numbers = line.split(separator: " ").compactMap { UInt32($0) }
      // The last id, 4294967295, stands for no user.
      return numbers.count == 3 && numbers[0] == 0 && numbers[2] == .max
    }
  }
}
