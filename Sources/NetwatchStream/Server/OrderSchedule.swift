import Netwatch
import NetwatchLibC

/// Decides which client's orders the service carries out next. Pure.
///
/// Any user may connect to the machine's service and order as much as the connections carry. So each user has a budget for each
/// second, and all users together have one for each turn of the loop. It counts the orders of a user and not those of a
/// connection, because a user may have many. A client that has to wait is not read from; no order is lost, and nobody is
/// disconnected for it.
///
/// Users take turns, and so do the clients of a user.
struct OrderSchedule<Client: Hashable> {
  /// The tokens per second of a user who may begin requests: root and the service's own user. A token is for about ten
  /// microseconds on a slow machine; see `OrderCost`.
  static var userRate: Int { 16_384 }
  /// The tokens per second of any other user.
  static var strangerRate: Int { 1_024 }
  /// The tokens per second of all other users together, because one person can have many user ids (subuid(5)).
  static var strangersRate: Int { 4_096 }
  /// The tokens that all clients together may use in one turn of the loop, so that the loop returns to the kernel's messages and
  /// to its timers within a few milliseconds.
  static var turnBudget: Int { 64 }

  private struct User {
    let isStranger: Bool
    var limit: RateLimiter
    var waiting: [Client] = []
  }

  private var users: [uid_t: User] = [:]
  /// The users with clients that wait, in the order of their turns.
  private var order: [uid_t] = []
  private var waiting: Set<Client> = []
  private var strangers = RateLimiter(perSecond: Self.strangersRate)
  /// The tokens that have been used in this turn.
  private var spent = 0
  /// The number of users at which those are forgotten who have a full budget.
  private var mostUsers = 64

  init() {}

  /// Whether a client waits.
  func isWaiting(_ client: Client) -> Bool { waiting.contains(client) }

  /// Notes that a client has orders. If it waits already, nothing changes.
  ///
  /// - Parameters:
  ///   - isStranger: Whether the user is neither root nor the service's own.
  ///   - isFirst: Whether the client gets the first turn among those of its user. Default: false.
  mutating func add(_ client: Client, of user: uid_t, isStranger: Bool, isFirst: Bool = false, at now: Duration) {
    guard waiting.insert(client).inserted else { return }
    if users[user] == nil { forgetIdleUsers(at: now) }
    var entry =
      users[user]
      ?? User(
        isStranger: isStranger, limit: RateLimiter(perSecond: isStranger ? Self.strangerRate : Self.userRate))
    if entry.waiting.isEmpty { order.append(user) }
    entry.waiting.insert(client, at: isFirst ? 0 : entry.waiting.endIndex)
    users[user] = entry
  }

  /// Forgets a client that waits.
  mutating func remove(_ client: Client, of user: uid_t) {
    guard waiting.remove(client) != nil else { return }
    users[user]?.waiting.removeAll { $0 == client }
    if users[user]?.waiting.isEmpty != false { order.removeAll { $0 == user } }
  }

  /// Begins a turn of the loop.
  mutating func beginTurn() { spent = 0 }

  /// Returns the client whose turn it is, which then no longer waits. Nil if no client waits, or each has to wait longer.
  mutating func next(at now: Duration) -> Client? {
    guard spent < Self.turnBudget, let place = order.firstIndex(where: { mayOrder($0, at: now) }) else { return nil }
    let user = order.remove(at: place)
    guard let client = users[user]?.waiting.removeFirst() else { return nil }
    waiting.remove(client)
    if users[user]?.waiting.isEmpty == false { order.append(user) }
    return client
  }

  private func mayOrder(_ user: uid_t, at now: Duration) -> Bool {
    guard let user = users[user] else { return false }
    return user.limit.allows(at: now) && (!user.isStranger || strangers.allows(at: now))
  }

  /// Notes what the orders of a user have cost.
  mutating func charge(_ tokens: Int, to user: uid_t, at now: Duration) {
    spent += tokens
    users[user]?.limit.take(tokens, at: now)
    if users[user]?.isStranger == true { strangers.take(tokens, at: now) }
  }

  /// The time of the next turn of a client that waits. It is over if the client waits only for the next turn of the loop. Nil if
  /// none waits.
  var nextTime: Duration? {
    order.lazy.compactMap { users[$0] }
      .map { $0.isStranger ? max($0.limit.next, strangers.next) : $0.limit.next }.min()
  }

  /// A user who has a full budget is as good as a new one.
  private mutating func forgetIdleUsers(at now: Duration) {
    guard users.count >= mostUsers else { return }
    users = users.filter { !$0.value.waiting.isEmpty || !$0.value.limit.isFull(at: now) }
    mostUsers = max(64, users.count * 2)
  }
}

/// What orders cost, in tokens of an ``OrderSchedule``. One is about what the service needs to obey a short line.
enum OrderCost {
  /// A read from the socket, however little it brings, with what it takes to wait for it.
  static let read = 4
  /// The first line of a connection, and the work of making the connection and of ending it.
  static let connection = 8
  /// The tokens that a client may use before another one has its turn.
  static let turn = 32

  /// Returns the cost of a line of this many bytes.
  static func line(of length: Int) -> Int { 1 + length / 256 }

  /// Returns the additional cost of counters of this many clients, and of this many requests with labels.
  static func statistics(of clients: Int, _ requests: Int) -> Int { (clients + requests) / 64 }
}

/// A token bucket: work may cost a number of tokens per second, and at most one second's tokens are kept for a burst. Work may cost
/// more than is there; then nothing is allowed until the debt is paid. Pure.
struct RateLimiter {
  private static let burst = Duration.seconds(1)

  private let timePerToken: Duration
  /// The time at which the bucket is full.
  private var fullTime = Duration.zero

  /// Creates a full bucket that gets this many tokens per second; at least one.
  init(perSecond tokens: Int) { timePerToken = Self.burst / max(1, tokens) }

  /// Whether the bucket is full.
  func isFull(at now: Duration) -> Bool { fullTime <= now }

  /// Whether there is a token.
  func allows(at now: Duration) -> Bool { now >= next }

  /// The time from which there is a token.
  var next: Duration { fullTime + timePerToken - Self.burst }

  /// Takes tokens out of the bucket.
  mutating func take(_ tokens: Int = 1, at now: Duration) { fullTime = max(fullTime, now) + timePerToken * tokens }
}

/// The numbers of connections of users who are neither the server's user nor root. Pure.
struct PeerConnectionLimits {
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
