import Glibc

/// The numbers of connections of users who are neither the server's user nor root. Pure.
struct StrangerCounts {
  private let connectionLimit: Int
  private var counts: [uid_t: Int] = [:]
  private var total = 0

  /// - Parameter connectionLimit: The most connections of all users.
  init(connectionLimit: Int) { self.connectionLimit = connectionLimit }

  /// The most connections of one user.
  private var mostOfOne: Int { max(1, connectionLimit / 4) }
  /// The most connections of all these users. The rest is for the server's user and root, because one person can have many user
  /// ids (subuid(5)).
  private var most: Int { max(1, connectionLimit - connectionLimit / 4) }

  /// Counts a connection of a user.
  ///
  /// - Returns: Nil, or a sentence that says why the user gets no connection.
  mutating func add(_ user: uid_t) -> String? {
    guard counts[user, default: 0] < mostOfOne else {
      return "a user has at most \(mostOfOne) of the \(connectionLimit) connections"
    }
    guard total < most else {
      return "users other than root and the service's have at most \(most) of the \(connectionLimit) connections"
    }
    counts[user, default: 0] += 1
    total += 1
    return nil
  }

  /// Takes note that a connection of a user has ended.
  mutating func remove(_ user: uid_t) {
    guard let count = counts[user] else { return }
    counts[user] = count > 1 ? count - 1 : nil
    total -= 1
  }
}
