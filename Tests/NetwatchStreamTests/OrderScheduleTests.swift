import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchStream

/// The order in which a service carries out the orders of its clients. Numbers stand for the clients.
@Suite struct OrderScheduleTests {
  private typealias Schedule = OrderSchedule<Int>

  private func stranger(_ client: Int, of user: uid_t, in schedule: inout Schedule, at now: Duration = .zero) {
    schedule.add(client, of: user, isStranger: true, at: now)
  }

  @Test func `users take turns, and so do their clients`() {
    var schedule = Schedule()
    for client in 0..<6 { stranger(client, of: client < 4 ? 1 : 2, in: &schedule) }
    var turns: [Int] = []
    while let client = schedule.next(at: .zero) { turns.append(client) }
    #expect(turns == [0, 4, 1, 5, 2, 3])
    #expect(schedule.nextTime == nil)
  }

  @Test func `a client does not wait twice, and one that comes first has the first turn of its user`() {
    var schedule = Schedule()
    for client in [1, 2, 1] { stranger(client, of: 1, in: &schedule) }
    schedule.add(3, of: 1, isStranger: true, isFirst: true, at: .zero)
    #expect([1, 2, 3].allSatisfy { schedule.isWaiting($0) })
    #expect((0..<4).map { _ in schedule.next(at: .zero) } == [3, 1, 2, nil])
    #expect(!schedule.isWaiting(1))
  }

  @Test func `a client that is gone has no turn`() {
    var schedule = Schedule()
    for client in 1...3 { stranger(client, of: 1, in: &schedule) }
    schedule.remove(2, of: 1)
    schedule.remove(9, of: 7)
    #expect((0..<3).map { _ in schedule.next(at: .zero) } == [1, 3, nil])
    stranger(4, of: 5, in: &schedule)
    schedule.remove(4, of: 5)
    #expect(schedule.next(at: .zero) == nil && schedule.nextTime == nil)
  }

  @Test func `a turn of the loop has a budget, and the rest has its turn in the next`() {
    var schedule = Schedule()
    for client in 0..<10 { stranger(client, of: uid_t(client), in: &schedule) }
    func turn() -> Int {
      schedule.beginTurn()
      var count = 0
      while let client = schedule.next(at: .seconds(1)) {
        schedule.charge(Schedule.turnBudget / 4, to: uid_t(client), at: .seconds(1))
        count += 1
      }
      return count
    }
    #expect((0..<4).map { _ in turn() } == [4, 4, 2, 0])
  }

  @Test(arguments: [(false, Schedule.userRate), (true, Schedule.strangerRate)])
  func `a user who orders all the time has the tokens of a burst, and then those of each second`(
    isStranger: Bool, rate: Int
  ) {
    // There are two connections, which always have another order.
    var schedule = Schedule()
    var spent = [0, 0]
    var now = Duration.seconds(5)
    while now < .seconds(15) {
      schedule.beginTurn()
      for client in 0..<2 { schedule.add(client, of: 1, isStranger: isStranger, at: now) }
      while let client = schedule.next(at: now) {
        schedule.charge(20, to: 1, at: now)
        spent[client] += 20
        schedule.add(client, of: 1, isStranger: isStranger, at: now)
      }
      now += .milliseconds(1)
    }
    // The user has the tokens of the burst and of ten seconds, and may exceed them by one order.
    #expect(abs(spent[0] + spent[1] - 11 * rate) <= 20)
    #expect(abs(spent[0] - spent[1]) <= 20)
  }

  @Test func `strangers together have the tokens of four, and root and the service's user none the less`() {
    var schedule = Schedule()
    var spent: [uid_t: Int] = [:]
    var now = Duration.zero
    // The user 0 is not a stranger.
    let users = (0...40).map { uid_t($0) }
    while now < .seconds(10) {
      schedule.beginTurn()
      for user in users { schedule.add(Int(user), of: user, isStranger: user != 0, at: now) }
      while let client = schedule.next(at: now) {
        schedule.charge(10, to: uid_t(client), at: now)
        spent[uid_t(client), default: 0] += 10
      }
      now += .milliseconds(1)
    }
    let strangers = spent.filter { $0.key != 0 }.values
    #expect(abs(strangers.reduce(0, +) - 11 * Schedule.strangersRate) <= 10)
    // Each stranger gets an equal share.
    #expect(strangers.count == 40)
    #expect((strangers.max() ?? 0) - (strangers.min() ?? 0) <= 11 * Schedule.strangersRate / 40 / 20)
    // The user 0 has one order in each turn, except in the first turns, in which not all orders fit.
    #expect(spent[0, default: 0] >= 10 * 9_900)
  }

  @Test func `who has used up the budget waits until the time that is told, and others do not`() throws {
    var schedule = Schedule()
    let now = Duration.seconds(1)
    stranger(1, of: 1, in: &schedule, at: now)
    #expect(schedule.next(at: now) == 1)
    schedule.charge(2 * Schedule.strangerRate, to: 1, at: now)
    stranger(1, of: 1, in: &schedule, at: now)
    stranger(2, of: 2, in: &schedule, at: now)
    schedule.beginTurn()
    #expect(schedule.next(at: now) == 2)
    #expect(schedule.next(at: now) == nil)
    let time = try #require(schedule.nextTime)
    #expect(time > now + .seconds(1) && time < now + .milliseconds(1_002))
    #expect(schedule.next(at: time - .nanoseconds(1)) == nil)
    #expect(schedule.next(at: time) == 1)
  }

  @Test func `to disconnect and come again gives no new budget`() {
    var schedule = Schedule()
    stranger(1, of: 1, in: &schedule)
    _ = schedule.next(at: .zero)
    schedule.charge(2 * Schedule.strangerRate, to: 1, at: .zero)
    // Many other users who come in the meantime do not restore the budget either.
    for user in 2..<5_000 as Range<uid_t> {
      stranger(Int(user), of: user, in: &schedule)
      schedule.remove(Int(user), of: user)
    }
    stranger(9_999, of: 1, in: &schedule)
    schedule.beginTurn()
    #expect(schedule.next(at: .zero) == nil)
    #expect(schedule.next(at: .seconds(2)) == 9_999)
  }

  @Test func `any walk: nobody is lost, nobody comes who does not wait, and each budget holds`() {
    for seed in 0..<20 as Range<UInt64> {
      var random = SplitMix(seed: seed)
      var schedule = Schedule()
      var waiting: Set<Int> = []
      var now = Duration.zero
      var strangers = 0
      func user(of client: Int) -> uid_t { uid_t(client % 7) }
      for _ in 0..<1_000 {
        let client = Int.random(in: 0..<40, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1:
          schedule.add(
            client, of: user(of: client), isStranger: user(of: client) != 0, isFirst: .random(using: &random), at: now)
          waiting.insert(client)
        case 2:
          schedule.remove(client, of: user(of: client))
          waiting.remove(client)
        case 3:
          now += .microseconds(Int.random(in: 0..<200_000, using: &random))
          schedule.beginTurn()
        default:
          guard let next = schedule.next(at: now) else { continue }
          #expect(waiting.remove(next) != nil)
          let cost = Int.random(in: 0..<200, using: &random)
          schedule.charge(cost, to: user(of: next), at: now)
          if user(of: next) != 0 { strangers += cost }
        }
        #expect((0..<40).allSatisfy { schedule.isWaiting($0) == waiting.contains($0) })
        #expect((schedule.nextTime == nil) == waiting.isEmpty)
      }
      #expect(Double(strangers) <= Double(Schedule.strangersRate) * (now / .seconds(1) + 1) + 200)
      now += .seconds(100)
      schedule.beginTurn()
      while let next = schedule.next(at: now) { #expect(waiting.remove(next) != nil) }
      #expect(waiting.isEmpty)
    }
  }
}

@Suite struct RateLimitTests {
  @Test func `a burst of one second, then one after the other`() {
    var limit = RateLimiter(perSecond: 8)
    let now = Duration.seconds(7)
    for _ in 0..<8 {
      #expect(limit.allows(at: now))
      limit.take(at: now)
    }
    #expect(!limit.allows(at: now))
    #expect(limit.next == now + .milliseconds(125))
    #expect(!limit.isFull(at: now + .milliseconds(999)) && limit.isFull(at: now + .seconds(1)))
    limit.take(at: limit.next)
    #expect(limit.next == now + .milliseconds(250))
  }

  @Test func `a debt is paid before anything is allowed, and nothing is saved for longer than a second`() {
    var limit = RateLimiter(perSecond: 10)
    limit.take(100, at: .seconds(1))
    #expect(limit.next == .milliseconds(10_100))
    for _ in 0..<10 { limit.take(at: .seconds(1_000)) }
    #expect(!limit.allows(at: .seconds(1_000)))
  }
}
