import Testing

@testable import NetwatchHTTP

/// Which transfers run, and when.
@Suite struct TransferQueueTests {
  private typealias Item = TransferQueue.Item
  private typealias Key = TransferQueue.Key

  /// A queue with its clocks.
  private struct Machine {
    var queue = TransferQueue()
    var now = Duration.zero
    var wall = 1_000.0

    mutating func callAsFunction(_ input: TransferQueue.Input) -> [TransferQueue.Output] {
      queue.handle(input, at: now, wall: wall)
    }

    /// The numbers of the transfers that begin.
    mutating func begins(_ input: TransferQueue.Input) -> [Int] {
      self(input).compactMap { output in
        guard case .begin(let key) = output else { return nil }
        return Int(key.id)
      }
    }
  }

  private static func item(_ number: Int, host: String = "example.org", _ change: (inout Item) -> Void = { _ in })
    -> Item
  {
    var item = Item(id: "\(number)", number: number, session: "s", host: host)
    change(&item)
    return item
  }

  private static func key(_ number: Int) -> Key { Key(session: "s", id: "\(number)") }

  private static func online(_ path: String = "1", _ change: (inout TransferQueue.Surroundings) -> Void = { _ in })
    -> TransferQueue.Input
  {
    var surroundings = TransferQueue.Surroundings()
    (surroundings.hasPath, surroundings.isMetered, surroundings.path) = (true, false, path)
    change(&surroundings)
    return .changed(surroundings)
  }

  // MARK: Order

  @Test func `an empty queue is done, and one without a path waits`() {
    var machine = Machine()
    #expect(machine(.found([])) == [.done])
    #expect(machine(.found([Self.item(1)])) == [.sleep(until: nil, wall: nil)])
    #expect(machine.begins(Self.online()) == [1])
  }

  @Test func `a server of the local network needs no path to the internet`() {
    var machine = Machine()
    #expect(machine.begins(.found([Self.item(1), Self.item(2) { $0.isLocal = true }])) == [2])
  }

  @Test func `transfers begin by priority and then in their order, four of a session at a time`() {
    var machine = Machine()
    _ = machine(Self.online())
    let items = (1...9).map { number in Self.item(number) { $0.priority = number == 7 ? 1 : 0 } }
    #expect(machine.begins(.found(items.reversed())) == [7, 1, 2, 3])
    #expect(machine.begins(.ended(Self.key(1))) == [4])
    #expect(machine.begins(.tick) == [])
  }

  @Test func `one host does not take the places of another one`() {
    var machine = Machine()
    _ = machine(Self.online())
    var items = (1...3).map { number in Self.item(number) { $0.mostOfHost = 2 } }
    items.append(Self.item(4, host: "other.example"))
    #expect(machine.begins(.found(items)) == [1, 2, 4])
    #expect(machine.begins(.ended(Self.key(2))) == [3])
  }

  @Test func `ten thousand transfers begin in their order`() {
    var machine = Machine()
    _ = machine(Self.online())
    var items = (1...10_000).map { Self.item($0) }
    var begun = machine.begins(.found(items.shuffled()))
    for number in 1...200 {
      begun += machine.begins(.ended(Self.key(number)))
      items.removeFirst()
    }
    #expect(begun == Array(1...204))
  }

  // MARK: Conditions

  @Test(arguments: ["metered", "battery", "medium", "time", "paused"])
  func `a transfer waits for its condition, and stops when it holds no longer`(_ condition: String) {
    var machine = Machine()
    let wanting = Self.item(1) { item in
      switch condition {
      case "metered": item.needsUnmetered = true
      case "battery": item.needsPower = true
      case "medium": item.media = ["wifi"]
      case "time": item.notBefore = 2_000
      default: item.isPaused = true
      }
    }
    let bad = Self.online { (surroundings: inout TransferQueue.Surroundings) in
      (surroundings.isMetered, surroundings.isOnPower, surroundings.medium) = (true, false, "wwan")
    }
    let good = Self.online { (surroundings: inout TransferQueue.Surroundings) in
      (surroundings.isMetered, surroundings.isOnPower, surroundings.medium) = (false, true, "wifi")
    }
    _ = machine(bad)
    let waiting = machine(.found([wanting]))
    #expect(waiting == [condition == "paused" ? .done : .sleep(until: nil, wall: condition == "time" ? 2_000 : nil)])
    switch condition {
    case "time": machine.wall = 2_000
    case "paused": _ = machine(.found([Self.item(1)]))
    default: break
    }
    let begun = machine.begins(condition == "time" ? .tick : good)
    #expect(begun == (condition == "paused" ? [] : [1]))
    // A transfer that has begun does not care for its time any more, and a clock that goes back stops nothing.
    machine.wall = 500
    let stopped = condition == "paused" ? machine(.found([wanting])) : machine(bad)
    #expect(stopped.contains(.stop(Self.key(1))) == (condition != "time"))
    #expect(!machine(.tick).contains(.stop(Self.key(1))), "it is told once")
  }

  @Test func `a gap of the path stops nothing, because the connection may outlive it`() {
    var machine = Machine()
    _ = machine(Self.online())
    _ = machine(.found([Self.item(1)]))
    #expect(machine(.changed(TransferQueue.Surroundings())) == [.sleep(until: nil, wall: nil)])
  }

  // MARK: Failures

  @Test func `the pauses after failures of the network grow to a minute, and end with another path`() {
    var machine = Machine()
    _ = machine(Self.online())
    _ = machine(.found([Self.item(1)]))
    for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
      let until = machine.now + .seconds(pause)
      #expect(machine(.failed(Self.key(1), .network)) == [.sleep(until: until, wall: nil)])
      machine.now = until
      #expect(machine.begins(.tick) == [1])
    }
    _ = machine(.failed(Self.key(1), .network))
    #expect(machine.begins(Self.online("2")) == [1])
  }

  @Test func `a server says how long it wants to be left alone, but not for more than an hour`() {
    var machine = Machine()
    _ = machine(Self.online())
    _ = machine(.found([Self.item(1)]))
    let failure = TransferQueue.Failure.server(retryAfter: .seconds(120))
    #expect(machine(.failed(Self.key(1), failure)) == [.sleep(until: .seconds(120), wall: nil)])
    #expect(machine.begins(Self.online("2")) == [], "another path is no other server")
    machine.now = .seconds(120)
    #expect(machine.begins(.tick) == [1])
    let long = TransferQueue.Failure.server(retryAfter: .seconds(1_000_000))
    #expect(machine(.failed(Self.key(1), long)) == [.sleep(until: .seconds(3_720), wall: nil)])
  }

  @Test func `a transfer that is paused and resumed by hand tries at once`() {
    var machine = Machine()
    _ = machine(Self.online())
    _ = machine(.found([Self.item(1)]))
    _ = machine(.failed(Self.key(1), .disk))
    #expect(machine.begins(.found([Self.item(1)])) == [])
    _ = machine(.found([Self.item(1) { $0.isPaused = true }]))
    #expect(machine.begins(.found([Self.item(1) { $0.resumed = 1 }])) == [1])
  }

  @Test func `a transfer that waits after a failure tries at once when somebody lets it go on`() {
    var machine = Machine()
    _ = machine(Self.online())
    _ = machine(.found([Self.item(1) { $0.resumed = 1 }]))
    _ = machine(.failed(Self.key(1), .disk))
    #expect(machine.begins(.found([Self.item(1) { $0.resumed = 1 }])) == [])
    #expect(machine.begins(.found([Self.item(1) { $0.resumed = 2 }])) == [1])
  }

  @Test func `while one waits, the next one runs`() {
    var machine = Machine()
    _ = machine(Self.online())
    _ = machine(.found((1...5).map { Self.item($0) }))
    #expect(machine.begins(.failed(Self.key(1), .disk)) == [5])
  }

  // MARK: Ends

  @Test func `a cancelled transfer is stopped, and then ended once`() {
    var machine = Machine()
    _ = machine(Self.online())
    _ = machine(.found([Self.item(1)]))
    let cancelled = Self.item(1) { $0.isCancelled = true }
    #expect(machine(.found([cancelled])).first == .stop(Self.key(1)))
    #expect(machine(.stopped(Self.key(1))) == [.cancel(Self.key(1)), .sleep(until: nil, wall: nil)])
    #expect(machine(.found([cancelled])) == [.sleep(until: nil, wall: nil)])
    #expect(machine(.ended(Self.key(1))) == [.done])
    #expect(machine(.found([cancelled])) == [.done])
  }

  @Test func `one of which nobody knows is told once, also without a path`() {
    var machine = Machine()
    let lost = Self.item(1) { $0.isLost = true }
    #expect(machine(.found([lost])) == [.lose(Self.key(1)), .sleep(until: nil, wall: nil)])
    #expect(machine(.found([lost])) == [.sleep(until: nil, wall: nil)])
    #expect(machine(.ended(Self.key(1))) == [.done])
  }

  @Test func `a request that must not be sent twice is stopped by its user alone`() {
    var machine = Machine()
    _ = machine(Self.online())
    let once = Self.item(1) { ($0.isOnce, $0.needsUnmetered) = (true, true) }
    #expect(machine.begins(.found([once])) == [1])
    #expect(machine(Self.online { $0.isMetered = true }) == [.sleep(until: nil, wall: nil)])
    #expect(machine(.found([Self.item(1) { ($0.isOnce, $0.isPaused) = (true, true) }])).first == .stop(Self.key(1)))
  }

  @Test func `a transfer that is over does not begin again before its record has changed`() {
    var machine = Machine()
    _ = machine(Self.online())
    _ = machine(.found([Self.item(1)]))
    #expect(machine(.ended(Self.key(1))) == [.done])
    #expect(machine(.found([Self.item(1)])) == [.done])
  }

  @Test func `a transfer whose record has gone is stopped`() {
    var machine = Machine()
    _ = machine(Self.online())
    _ = machine(.found([Self.item(1)]))
    #expect(machine(.found([])).first == .stop(Self.key(1)))
    #expect(machine(.stopped(Self.key(1))) == [.done])
  }
}
