import Glibc

/// The meaning of user ids in this process. A user namespace maps only some ids; the kernel shows all others as one id, 65534.
package enum UserNamespace {
  private static let standardOverflowUser: uid_t = 65_534

  /// Whether some users of the machine do not exist in this user namespace, as in a container without privileges. False if
  /// /proc does not tell.
  package static var isOwn: Bool { map.map { !mapsEveryUser($0) } ?? false }

  /// Returns whether different users may appear here as `user`.
  package static func isAmbiguous(_ user: uid_t) -> Bool {
    let overflow = FileDescriptor.text(of: "/proc/sys/kernel/overflowuid").flatMap { uid_t($0.filter(\.isNumber)) }
    guard user == overflow ?? standardOverflowUser else { return false }
    return !(map.map(mapsEveryUser) ?? false)
  }

  private static var map: String? { FileDescriptor.text(of: "/proc/self/uid_map") }

  /// Returns whether a map contains every user.
  ///
  /// - Parameter map: The text of a file `uid_map`: lines of the first id here, the first id outside, and their number.
  static func mapsEveryUser(_ map: String) -> Bool {
    map.split(separator: "\n").contains { line in
      let numbers = line.split(separator: " ").compactMap { UInt32($0) }
      // The last id, 4294967295, means no user.
      return numbers.count == 3 && numbers[0] == 0 && numbers[2] == .max
    }
  }
}
