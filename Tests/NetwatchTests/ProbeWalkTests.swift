import Netwatch
import NetwatchTestSupport
import Testing

/// Compares the machine with a second model, which is written from the description alone. The model keeps what has
/// happened, and works out from it what must be known, run or waited for.
@Suite struct ProbeWalkTests {
  private struct Model {
    var interface: InterfaceName?
    var isFirst = true
    var known = InternetAccess.unknown
    /// The number and the start of the probe that runs. At most one runs.
    var running: (number: Int, start: Duration)?
    var begun = 0
    /// The time at which the next probe is to begin.
    var due: Duration?
    /// Whether an answer about the current path has come.
    var hasAnswer = false
  }

  /// What runs outside the machine according to its effects.
  private struct World {
    var running: Int?
    var timer: Duration?
    var begun = 0
    var told = InternetAccess.unknown
  }

  @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6])
  func `a random walk of 50,000 events`(seed: UInt64) {
    var random = SplitMix(seed: seed)
    var timing = ProbeMachine.Timing()
    if seed.isMultiple(of: 2) { timing.interval = .seconds(Int(seed)) }
    if seed == 6 { timing.interval = .zero }
    var machine = ProbeMachine(timing)
    var model = Model()
    var world = World()
    var now = Duration.zero

    func pass(_ access: InternetAccess) {
      model.known = access
      model.running = nil
      model.hasAnswer = true
      let pause = access == .full ? timing.interval : min(timing.interval, timing.retry)
      model.due = timing.interval == .zero ? nil : now + pause
    }

    for _ in 0..<50_000 {
      // The clock sometimes moves to exactly the moment of the timer.
      now =
        random.oneIn(3) ? max(now, world.timer ?? now) : now + .milliseconds(Int.random(in: 0..<400, using: &random))
      let event: ProbeMachine.Event
      switch Int.random(in: 0..<7, using: &random) {
      case 0:
        let status = ReachabilityStatus.allCases.randomElement(using: &random) ?? .wifi
        let name = ["v0", "w0"].randomElement(using: &random)
        event = .path(
          ProbeMachineTests.path(status, over: name, vpn: random.oneIn(4) ? "wg0" : nil))
      case 1, 2:
        let number = random.oneIn(4) ? Int.random(in: 0...model.begun + 1, using: &random) : model.begun
        event = .ended(number, InternetAccess.allCases.randomElement(using: &random) ?? .full)
      case 3: event = .doubted
      default: event = .timerFired
      }

      switch event {
      case .path(let verdict):
        model.running = nil
        model.interface = verdict.isReachable ? verdict.vpn?.kernelName ?? verdict.interfaceName : nil
        model.known = verdict.status == .notReachable ? .absent : .unknown
        model.due = model.interface == nil ? nil : model.isFirst ? now : now + timing.settling
        (model.isFirst, model.hasAnswer) = (false, false)
      case .ended(let number, let access):
        if model.running?.number == number { pass(access) }
      case .doubted:
        // Waking up has the effect of the same path coming again, except that what is known stays.
        if model.hasAnswer { (model.due, model.hasAnswer) = (now + timing.settling, false) }
      case .timerFired:
        if let running = model.running, now >= running.start + timing.limit { pass(.unknown) }
      }
      // The first path starts a probe without a timer.
      var mayBegin = event == .timerFired
      if case .path = event, model.due == now { mayBegin = true }
      if mayBegin, let due = model.due, due <= now, model.running == nil {
        model.begun += 1
        model.running = (model.begun, now)
        model.due = nil
      }

      let before = machine.internet
      for effect in machine.handle(event, at: now) {
        switch effect {
        case .start(let number, let interface):
          if world.running != nil || number != world.begun + 1 || interface != model.interface {
            Issue.record("began \(number) beside \(String(describing: world.running))")
          }
          (world.running, world.begun) = (number, number)
        case .kill(let number):
          if world.running != number { Issue.record("killed \(number)") }
          world.running = nil
        case .arm(let deadline): world.timer = deadline
        case .answer(let access, let isNews):
          if isNews != (access != before) { Issue.record("\(before), then \(access): news \(isNews)") }
          if case .ended = event { world.running = nil }
          world.told = access
        }
      }
      guard machine.internet == model.known, world.running == model.running?.number, world.begun == model.begun,
        world.timer == (model.running.map { $0.start + timing.limit } ?? model.due),
        machine.awaitsAnswer == (model.running != nil || model.due != nil && !model.hasAnswer)
      else {
        Issue.record("\(event) at \(now): \(machine), \(model), \(world)")
        return
      }
    }
    #expect(world.begun > 100)
  }
}
