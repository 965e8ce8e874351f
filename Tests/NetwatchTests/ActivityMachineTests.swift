import NetwatchTestSupport
import Testing

@testable import Netwatch

@Suite struct ActivityMachineTests {
  typealias Effects = ActivityMachine.Effects

  /// Returns a machine that came to `state` at 10 s. Its delays are counted from there.
  private static func machine(_ state: ActivityState, isBusy: Bool) -> ActivityMachine {
    var machine = ActivityMachine()
    func at(_ seconds: Double) -> Duration { .seconds(seconds) }
    switch state {
    case .inactive:
      if isBusy {
        _ = machine.handle(.disabled, at: at(10))
        _ = machine.handle(.busy, at: at(10))
      }
    case .delayingStart:
      _ = machine.handle(.busy, at: at(10))
      if !isBusy { _ = machine.handle(.idle, at: at(10)) }
    case .active:
      _ = machine.handle(.busy, at: at(9))
      _ = machine.handle(.timerFired, at: at(10))
    case .delayingEnd:
      _ = machine.handle(.busy, at: at(8))
      _ = machine.handle(.timerFired, at: at(9))
      _ = machine.handle(.idle, at: at(10))
    }
    return machine
  }

  struct Cell: Sendable, CustomTestStringConvertible {
    let event: ActivityMachine.Event
    let from: ActivityState
    var isBusy = false
    var at: Duration = .seconds(10.1)
    let to: ActivityState
    var deadline: Duration?
    var effects = Effects()
    var testDescription: String { "\(event) in \(from)\(isBusy ? ", busy" : "") at \(at)" }
  }

  static let started: Duration = .seconds(11)
  static let ended: Duration = .seconds(10) + .milliseconds(170)

  /// All rows of the indicator's table of states.
  @Test(arguments: [
    Cell(event: .busy, from: .inactive, to: .delayingStart, deadline: .seconds(11.1), effects: .init(setsTimer: true)),
    Cell(event: .busy, from: .delayingStart, isBusy: true, to: .delayingStart, deadline: started),
    Cell(event: .busy, from: .active, isBusy: true, to: .active),
    Cell(event: .busy, from: .delayingEnd, to: .active, effects: .init(setsTimer: true)),

    Cell(event: .idle, from: .inactive, to: .inactive),
    Cell(event: .idle, from: .delayingStart, isBusy: true, to: .delayingStart, deadline: started),
    Cell(
      event: .idle, from: .active, isBusy: true, to: .delayingEnd, deadline: .seconds(10.1) + .milliseconds(170),
      effects: .init(setsTimer: true)),
    Cell(event: .idle, from: .delayingEnd, to: .delayingEnd, deadline: ended),

    Cell(event: .timerFired, from: .inactive, to: .inactive),
    Cell(
      event: .timerFired, from: .delayingStart, isBusy: true, at: started, to: .active,
      effects: .init(setsTimer: true, visibility: true)),
    Cell(event: .timerFired, from: .delayingStart, at: started, to: .inactive, effects: .init(setsTimer: true)),
    Cell(event: .timerFired, from: .active, isBusy: true, to: .active),
    Cell(
      event: .timerFired, from: .delayingEnd, at: ended, to: .inactive,
      effects: .init(setsTimer: true, visibility: false)),
    // The timer fires too early because it was set for a deadline that has moved.
    Cell(event: .timerFired, from: .delayingStart, isBusy: true, to: .delayingStart, deadline: started),
    Cell(event: .timerFired, from: .delayingEnd, to: .delayingEnd, deadline: ended),

    Cell(event: .disabled, from: .inactive, to: .inactive),
    Cell(event: .disabled, from: .delayingStart, isBusy: true, to: .inactive, effects: .init(setsTimer: true)),
    Cell(event: .disabled, from: .active, isBusy: true, to: .inactive, effects: .init(visibility: false)),
    Cell(event: .disabled, from: .delayingEnd, to: .inactive, effects: .init(setsTimer: true, visibility: false)),

    Cell(
      event: .enabled, from: .inactive, isBusy: true, to: .delayingStart, deadline: .seconds(11.1),
      effects: .init(setsTimer: true)),
    Cell(event: .enabled, from: .inactive, to: .inactive),
    Cell(event: .enabled, from: .delayingStart, isBusy: true, to: .delayingStart, deadline: started),
    Cell(event: .enabled, from: .active, isBusy: true, to: .active),
    Cell(event: .enabled, from: .delayingEnd, to: .delayingEnd, deadline: ended),
  ])
  func `every cell of the table`(_ cell: Cell) {
    var machine = Self.machine(cell.from, isBusy: cell.isBusy)
    #expect(machine.state == cell.from)
    #expect(machine.handle(cell.event, at: cell.at) == cell.effects)
    #expect(machine.state == cell.to)
    #expect(machine.deadline == cell.deadline)
  }

  @Test func `while disabled nothing starts`() {
    var machine = ActivityMachine()
    _ = machine.handle(.disabled, at: .zero)
    #expect(machine.handle(.busy, at: .seconds(1)) == Effects())
    #expect(machine.handle(.idle, at: .seconds(2)) == Effects())
    #expect(machine.handle(.enabled, at: .seconds(3)) == Effects())
    #expect(machine.state == .inactive)
  }

  @Test func `delays of zero still take a timer`() {
    var machine = ActivityMachine()
    machine.configuration.activationDelay = .zero
    machine.configuration.completionDelay = .zero
    #expect(machine.handle(.busy, at: .seconds(5)) == Effects(setsTimer: true))
    #expect(machine.handle(.idle, at: .seconds(5)) == Effects())
    #expect(machine.handle(.timerFired, at: .seconds(5)) == Effects(setsTimer: true))
    #expect(machine.state == .inactive)
  }

  @Test func `a changed delay counts for the next timer`() {
    var machine = Self.machine(.delayingStart, isBusy: true)
    machine.configuration.activationDelay = .seconds(5)
    #expect(machine.deadline == Self.started)
    _ = machine.handle(.timerFired, at: Self.started)
    machine.configuration.completionDelay = .seconds(3)
    _ = machine.handle(.idle, at: .seconds(20))
    #expect(machine.deadline == .seconds(23))
  }
}
