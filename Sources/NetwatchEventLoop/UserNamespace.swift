import NetwatchLibC

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

  /// Returns whether the root of the machine appears here as `user`, so that its files cannot be told from those of users that
  /// have no id here either.
  ///
  /// If this user namespace has a user 0 to whom the root folder belongs, as in many containers, what has the overflow id is not
  /// root's: it comes from outside. False if /proc does not tell.
  package static func isHiddenRoot(_ user: uid_t) -> Bool {
    // The kernel gives /proc/sys to the root of the machine.
    guard isAmbiguous(user), let map, owner(of: "/proc/sys") == user else { return false }
    return owner(of: "/") == user || !mapsRoot(map)
  }

  private static func owner(of path: String) -> uid_t? {
    var facts = stat()
    return unsafe stat(path, &facts) == 0 ? facts.st_uid : nil
  }

  private static var map: String? { FileDescriptor.text(of: "/proc/self/uid_map") }

  /// Returns whether a map contains every user.
  ///
  /// - Parameter map: The text of a file `uid_map`: lines of the first id here, the first id outside, and their number.
  static func mapsEveryUser(_ map: String) -> Bool {
    // The last id, 4294967295, means no user.
    ranges(map).contains { $0.first == 0 && $0.count == .max }
  }

  /// Returns whether a map contains a user 0. The text is that of a file `uid_map`.
  static func mapsRoot(_ map: String) -> Bool { ranges(map).contains { $0.first == 0 && $0.count > 0 } }

  private static func ranges(_ map: String) -> [(first: UInt32, count: UInt32)] {
    map.split(separator: "\n").compactMap { line in
      let numbers = line.split(separator: " ").compactMap { UInt32($0) }
      return numbers.count == 3 ? (numbers[0], numbers[2]) : nil
    }
  }
}
