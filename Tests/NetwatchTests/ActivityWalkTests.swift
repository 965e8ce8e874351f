import Foundation
import Netwatch
import NetwatchTestSupport
import Testing

/// Compares requests and the indicator with a second model, which is written from the description alone. The model
/// keeps what has happened, and works out from it what should be seen.
@Suite struct ActivityWalkTests {
  /// The number of operations in a walk. `NETWATCH_ACTIVITY_OPERATIONS=1000000` makes the test with threads long.
  /// Default: 100,000.
  static let operations =
    ProcessInfo.processInfo.environment["NETWATCH_ACTIVITY_OPERATIONS"].flatMap { Int($0) } ?? 100_000

  /// The second model: lists of what runs, what has ended, and what has ended before it began, and two points in time.
  struct Model {
    var configuration = ActivityConfiguration()
    var tokens: [Int] = []
    var ids: [Int] = []
    var hidden: [Int] = []
    var early: [Int] = []
    var over: [Int] = []
    var isEnabled = true
    var isVisible = false
    var windowEnds: Duration?
    var lingersUntil: Duration?
    var count: Int { tokens.count + ids.count }

    var state: ActivityState {
      if isVisible { return lingersUntil == nil ? .active : .delayingEnd }
      return windowEnds == nil ? .inactive : .delayingStart
    }

    mutating func began(_ id: Int, isIndicated: Bool, at now: Duration) {
      if early.contains(id) {
        early.removeAll { $0 == id }
        over.append(id)
      } else if ids.contains(id) || hidden.contains(id) {
        return
      } else if isIndicated {
        ids.append(id)
        look(from: count - 1, at: now)
      } else {
        hidden.append(id)
      }
    }

    mutating func ended(_ id: Int, at now: Duration) {
      if ids.contains(id) {
        ids.removeAll { $0 == id }
        over.append(id)
        look(from: count + 1, at: now)
      } else if hidden.contains(id) {
        hidden.removeAll { $0 == id }
        over.append(id)
      } else if !over.contains(id), !early.contains(id) {
        early.append(id)
      }
    }

    mutating func look(from before: Int, at now: Duration) {
      guard isEnabled else { return }
      if before == 0, count == 1 {
        if isVisible {
          lingersUntil = nil
        } else if windowEnds == nil {
          windowEnds = now + configuration.activationDelay
        }
      } else if before == 1, count == 0, isVisible {
        lingersUntil = now + configuration.completionDelay
      }
    }

    mutating func enable(_ isOn: Bool, at now: Duration) {
      if isOn, !isEnabled, count > 0 { windowEnds = now + configuration.activationDelay }
      if !isOn { (windowEnds, lingersUntil, isVisible) = (nil, nil, false) }
      isEnabled = isOn
    }

    mutating func pass(to now: Duration) {
      if let end = windowEnds, end <= now {
        windowEnds = nil
        isVisible = count > 0
      }
      if let end = lingersUntil, end <= now {
        lingersUntil = nil
        isVisible = false
      }
    }
  }

  @Test(arguments: [UInt64(1), 2, 3, 4])
  func `a random walk of 100,000 events`(_ seed: UInt64) {
    var random = SplitMix(seed: seed)
    var model = Model()
    var machine = ActivityMachine()
    var requests = RequestSet()
    var tickets: [Int: RequestSet.Ticket] = [:]
    var spent: [RequestSet.Ticket] = []
    var now = Duration.zero
    var shown = false

    func apply(_ event: ActivityMachine.Event) {
      if let isVisible = machine.handle(event, at: now).visibility {
        if isVisible == shown { Issue.record("published twice at \(now)") }
        shown = isVisible
      }
    }
    func change(_ body: (inout RequestSet) -> Void) {
      let before = requests.count
      body(&requests)
      if before == 0, requests.count > 0 { apply(.busy) }
      if before > 0, requests.count == 0 { apply(.idle) }
    }

    for step in 0..<100_000 {
      let id = Int.random(in: 0..<12, using: &random)
      switch Int.random(in: 0..<12, using: &random) {
      case 0:
        model.tokens.append(step)
        model.look(from: model.count - 1, at: now)
        change { tickets[step] = $0.begin(nil) }
      case 1, 2:
        guard let (token, ticket) = tickets.randomElement(using: &random) else { break }
        model.tokens.removeAll { $0 == token }
        model.look(from: model.count + 1, at: now)
        tickets[token] = nil
        spent = spent.suffix(20) + [ticket]
        change { $0.end(ticket) }
      case 3:
        if let ticket = spent.randomElement(using: &random) { change { $0.end(ticket) } }
      case 4, 5:
        let isIndicated = !random.oneIn(6)
        model.began(id, isIndicated: isIndicated, at: now)
        change { $0.began(RequestID(UInt64(id)), isIndicated: isIndicated) }
      case 6, 7, 8:
        model.ended(id, at: now)
        change { $0.ended(RequestID(UInt64(id))) }
      case 9 where random.oneIn(8):
        let isOn = random.oneIn(2)
        model.enable(isOn, at: now)
        apply(isOn ? .enabled : .disabled)
      default:
        // The clock often moves to exactly the moment of a deadline.
        var next = now + .milliseconds(Int.random(in: 0...400, using: &random))
        if let deadline = machine.deadline, random.oneIn(3) { next = deadline }
        while let deadline = machine.deadline, deadline <= next {
          now = max(now, deadline)
          model.pass(to: now)
          apply(.timerFired)
        }
        now = max(now, next)
        model.pass(to: now)
        if random.oneIn(4) { apply(.timerFired) }
      }
      guard requests.count == model.count, machine.state == model.state, shown == model.isVisible else {
        Issue.record("step \(step): \(requests.count) \(machine.state), model \(model.count) \(model.state)")
        return
      }
    }
  }
}
