import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Returns a connection whose local port is the number of its socket.
private func connection(_ number: CInt) -> Connection {
  Connection(local: .v4(0x0a00_0001), localPort: UInt16(number), peer: .v4(0x0a09_0909), peerPort: 80)
}

@Suite struct ConnectionMachineTests {
  /// A step in the life of a connection: the answer of the kernel, and the time in seconds.
  private enum Step {
    case says(PeerRoute, Int)
    /// The time of the machine's timer has come, and the kernel then gives this answer.
    case woke(PeerRoute, Int)
  }

  private static let grace = Duration.seconds(3)

  /// - Returns: The second at which the connection was lost. Nil if it was not lost.
  private func loss(_ steps: [Step], grace: Duration = grace) -> Int? {
    var machine = ConnectionMachine(grace: grace)
    #expect(machine.handle(.opened(7, connection(7)), at: .zero) == [.ask(7, connection(7))])
    for (index, step) in steps.enumerated() {
      let (event, route, second): (ConnectionMachine.Event, PeerRoute, Int) =
        switch step {
        case .says(let route, let second): (.networkChanged, route, second)
        case .woke(let route, let second): (.woke, route, second)
        }
      let now = Duration.seconds(second)
      // The machine asks the first question when the connection is opened.
      let asked = index == 0 ? [.ask(7, connection(7))] : machine.handle(event, at: now)
      guard asked.contains(.ask(7, connection(7))) else { continue }
      if machine.handle(.answered(7, route), at: now).contains(.lose(7, connection(7))) {
        #expect(machine.handle(.networkChanged, at: now) == [])
        return second
      }
    }
    return nil
  }

  @Test func `a connection whose route stays the same is never lost`() {
    #expect(loss([.says(.link(2), 0), .says(.link(2), 1), .woke(.link(2), 9)]) == nil)
  }

  @Test(arguments: [PeerRoute.none, .link(3)])
  func `a route that is gone or another one is a loss after the grace`(route: PeerRoute) {
    #expect(loss([.says(.link(2), 0), .says(route, 1), .woke(route, 3)]) == nil)
    #expect(loss([.says(.link(2), 0), .says(route, 1), .woke(route, 4)]) == 4)
    #expect(loss([.says(.link(2), 0), .says(route, 1), .says(route, 2), .says(route, 5)]) == 5)
    #expect(loss([.says(.link(2), 0), .says(route, 1)], grace: .zero) == 1)
  }

  @Test(arguments: [PeerRoute.none, .link(3)])
  func `a route that is back within the grace loses no connection`(route: PeerRoute) {
    let back: [Step] = [
      .says(.link(2), 0), .says(route, 1), .says(.link(2), 3), .woke(.link(2), 4), .woke(.link(2), 9),
    ]
    #expect(loss(back) == nil)
    // The grace begins again with the next loss.
    #expect(loss(back + [.says(route, 10), .woke(route, 12)]) == nil)
    #expect(loss(back + [.says(route, 10), .woke(route, 13)]) == 13)
    // At the end of the grace, the machine asks once more, because a message about the route may have been lost.
    #expect(loss([.says(.link(2), 0), .says(route, 1), .woke(.link(2), 4), .woke(route, 9)]) == nil)
  }

  @Test func `from one wrong link to another is not back`() {
    #expect(loss([.says(.link(2), 0), .says(.none, 1), .says(.link(3), 2), .woke(.link(4), 4)]) == 4)
  }

  @Test func `a local address that is gone is a loss at once`() {
    #expect(loss([.says(.link(2), 0), .says(.localAddressGone, 1)]) == 1)
    #expect(loss([.says(.link(2), 0), .says(.none, 1), .says(.localAddressGone, 2)]) == 2)
    #expect(loss([.says(.localAddressGone, 0)]) == 0)
  }

  @Test func `a connection that is opened without a route has the grace to find one`() {
    #expect(loss([.says(.none, 0), .says(.link(2), 1), .woke(.link(2), 3)]) == nil)
    #expect(loss([.says(.none, 0), .woke(.none, 3)]) == 3)
  }

  @Test func `where the kernel does not answer nothing is lost`() {
    #expect(loss([.says(.unknown, 0), .says(.unknown, 1), .woke(.unknown, 9)]) == nil)
    #expect(loss([.says(.link(2), 0), .says(.none, 1), .woke(.unknown, 4), .woke(.unknown, 9)]) == nil)
    #expect(loss([.says(.unknown, 0), .says(.link(3), 1), .says(.link(3), 8)]) == nil)
  }

  @Test func `the timer is set for the first end of a grace alone`() {
    var machine = ConnectionMachine(grace: Self.grace)
    for socket in CInt(1)...2 {
      _ = machine.handle(.opened(socket, connection(socket)), at: .zero)
      _ = machine.handle(.answered(socket, .link(2)), at: .zero)
    }
    #expect(machine.handle(.answered(1, .none), at: .seconds(1)) == [.wake(at: .seconds(4))])
    #expect(machine.handle(.answered(2, .none), at: .seconds(2)) == [])
    #expect(machine.handle(.woke, at: .seconds(4)) == [.ask(1, connection(1)), .wake(at: .seconds(5))])
  }

  @Test func `a connection that was closed is asked about no more`() {
    var machine = ConnectionMachine(grace: .zero)
    _ = machine.handle(.opened(7, connection(7)), at: .zero)
    #expect(machine.handle(.closed(7), at: .zero) == [])
    #expect(machine.handle(.answered(7, .localAddressGone), at: .zero) == [])
    #expect(machine.handle(.networkChanged, at: .zero) == [])
  }

  // MARK: Random walk

  /// Simulates a kernel whose routes change, and connections that open and close. Compares which connections are lost,
  /// and when, with a simple rule.
  @Test(arguments: [UInt64](1...40)) func `a thousand changes lose the right connections, and no others`(seed: UInt64) {
    var random = SplitMix(seed: seed)
    let grace = Duration.seconds(Int.random(in: 0...4, using: &random))
    var machine = ConnectionMachine(grace: grace)
    var routes: [CInt: PeerRoute] = [:]
    var homes: [CInt: PeerRoute] = [:]
    var changed: [CInt: Duration] = [:]
    var wakeTime: Duration?
    var now = Duration.zero
    var next: CInt = 1

    func perform(_ event: ConnectionMachine.Event) {
      var effects = machine.handle(event, at: now)
      while !effects.isEmpty {
        switch effects.removeFirst() {
        case .ask(let socket, let asked):
          #expect(asked == connection(socket))
          guard let route = routes[socket] else { continue }
          effects += machine.handle(.answered(socket, route), at: now)
        case .lose(let socket, _):
          let isDue = changed[socket].map { now >= $0 + grace } ?? false
          #expect(routes[socket] == .localAddressGone || isDue && routes[socket] != homes[socket])
          routes[socket] = nil
        case .wake(let at):
          #expect(at >= now)
          wakeTime = at
        }
      }
    }

    for _ in 0..<1_000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0...1 where routes.count < 8:
        routes[next] = [.link(2), .link(3), PeerRoute.none].randomElement(using: &random)
        homes[next] = routes[next] == PeerRoute.none ? nil : routes[next]
        changed[next] = routes[next] == PeerRoute.none ? now : nil
        perform(.opened(next, connection(next)))
        next += 1
      case 2:
        guard let socket = routes.keys.sorted().randomElement(using: &random) else { continue }
        routes[socket] = nil
        perform(.closed(socket))
      case 3...6:
        for socket in routes.keys.sorted() where Bool.random(using: &random) {
          let isRare = Int.random(in: 0..<10, using: &random) == 0
          let route: PeerRoute =
            isRare ? .localAddressGone : [.link(2), .link(3), .none].randomElement(using: &random)!
          routes[socket] = route
          if homes[socket] == nil, case .link = route { homes[socket] = route }
          if route == homes[socket] { changed[socket] = nil } else { changed[socket] = changed[socket] ?? now }
        }
        perform(.networkChanged)
      default:
        now += .milliseconds(Int.random(in: 0...2_000, using: &random))
        guard let at = wakeTime, at <= now else { continue }
        wakeTime = nil
        perform(.woke)
      }
      // After the machine has run, no connection is left that should have been lost.
      if wakeTime.map({ $0 > now }) ?? true {
        for (socket, route) in routes where route != homes[socket] {
          #expect(changed[socket].map { now < $0 + grace } ?? false, "\(socket) \(route) at \(now)")
        }
      }
    }
  }
}
