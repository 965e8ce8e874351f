import Foundation
import Glibc
import NetwatchEventLoop
import Testing

/// The error for something that a test could not do, or that did not happen before a deadline.
package struct TestFailure: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }

  fileprivate static func late(_ state: Any, _ place: SourceLocation, _ seconds: Double) -> TestFailure {
    let place = "\(place.fileID):\(place.line)"
    return TestFailure(
      "\(place): what the test waits for has not come in \(seconds * patience) s; the last state was \(state)")
  }
}

/// Throws an error if a program is not installed. Without this check, a test would wait until its time is over.
package func requireProgram(_ name: String) throws {
  let folders = "\(ProcessInfo.processInfo.environment["PATH"] ?? ""):/usr/sbin".split(separator: ":")
  let paths = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
  guard paths.contains(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
    throw TestFailure("\(name) is not installed; contrib/test installs what the tests need, and runs them")
  }
}

/// The factor by which every deadline of a test is multiplied. Default: 1. `NETWATCH_TEST_PATIENCE` sets another one
/// for a machine that is slower than an ordinary computer, such as one whose processor is emulated.
package let patience = ProcessInfo.processInfo.environment["NETWATCH_TEST_PATIENCE"].flatMap { Double($0) } ?? 1

/// The time at which a wait of a test ends. Every wait has a deadline.
package struct Deadline {
  private let end: ContinuousClock.Instant
  package init(_ seconds: Double) { end = ContinuousClock.now + .seconds(seconds * patience) }
  package var isOver: Bool { ContinuousClock.now >= end }
  package var milliseconds: CInt {
    let (seconds, attoseconds) = max(end - ContinuousClock.now, .zero).components
    return CInt(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
  }
}

/// Waits until a state fulfils a condition, and returns that state.
///
/// The state is read at once, and then every few milliseconds, so that the processor is free for what the test waits
/// for. This form blocks its thread. An asynchronous function calls the other form, which does not.
///
/// - Parameters:
///   - state: The state, such as `try lines.count`. If it throws, so does the wait.
///   - seconds: The longest time for the wait, before it is multiplied by `patience`. Default: 30 seconds.
///   - condition: The condition that the state has to fulfil.
/// - Throws: A `TestFailure` with the place of the wait and the last state, if the condition is not fulfilled in time.
@discardableResult
package func eventually<State>(
  _ state: @autoclosure () throws -> State, within seconds: Double = 30, at place: SourceLocation = #_sourceLocation,
  _ condition: (State) throws -> Bool
) throws -> State {
  var looks = Looks(seconds, place)
  while true {
    let current = try state()
    if try condition(current) { return current }
    usleep(UInt32(try looks.pause(after: current) * 1_000))
  }
}

/// Waits until a state fulfils a condition, and returns that state. Other tasks run meanwhile.
///
/// The state is read at once, and then every few milliseconds.
///
/// - Parameters:
///   - state: The state, such as `events.count`. If it throws, so does the wait.
///   - seconds: The longest time for the wait, before it is multiplied by `patience`. Default: 30 seconds.
///   - condition: The condition that the state has to fulfil.
/// - Throws: A `TestFailure` with the place of the wait and the last state, if the condition is not fulfilled in time.
@discardableResult
package func eventually<State>(
  isolation: isolated (any Actor)? = #isolation, _ state: @autoclosure () async throws -> State,
  within seconds: Double = 30,
  at place: SourceLocation = #_sourceLocation, _ condition: (State) throws -> Bool
) async throws -> State {
  var looks = Looks(seconds, place)
  while true {
    let current = try await state()
    if try condition(current) { return current }
    try await Task.sleep(for: .milliseconds(try looks.pause(after: current)))
  }
}

/// The pauses between the looks of one wait: first 1 ms, then 1 ms longer each time, up to 20 ms.
private struct Looks {
  private let seconds: Double
  private let deadline: Deadline
  private let place: SourceLocation
  private var milliseconds = 0

  init(_ seconds: Double, _ place: SourceLocation) {
    (self.seconds, self.place) = (seconds, place)
    deadline = Deadline(seconds)
  }

  /// Returns the number of milliseconds until the next look.
  ///
  /// - Throws: A `TestFailure` with the place of the wait and the last state, if the deadline has passed.
  mutating func pause(after state: Any) throws -> Int {
    guard !deadline.isOver else {
      throw TestFailure.late(state, place, seconds)
    }
    milliseconds = min(milliseconds + 1, 20)
    return milliseconds
  }
}

extension EventLoop {
  /// Runs the loop until it is stopped. If that takes longer than 30 s times `patience`, the loop is stopped and the test fails.
  package func runPatiently(_ location: SourceLocation = #_sourceLocation) throws {
    let deadline = LoopTimer(on: self) { [unowned self] in
      Issue.record("nothing has come in \(30 * patience) s", sourceLocation: location)
      stop()
    }
    deadline.set(after: .seconds(30 * patience))
    try run()
    deadline.stop()
  }

  /// Handles events on the calling thread until a state fulfils a condition, and returns that state.
  ///
  /// - Parameters:
  ///   - state: The state, which is read after each turn of the loop.
  ///   - seconds: The longest time for the wait, before it is multiplied by `patience`. Default: 30 seconds.
  ///   - condition: The condition that the state has to fulfil.
  /// - Throws: A `TestFailure` with the place and the last state, if the condition is not fulfilled in time.
  @discardableResult
  package func poll<State>(
    until state: @autoclosure () throws -> State, within seconds: Double = 30,
    at place: SourceLocation = #_sourceLocation,
    _ condition: (State) throws -> Bool
  ) throws -> State {
    let deadline = Deadline(seconds)
    while true {
      try poll()
      let current = try state()
      if try condition(current) { return current }
      guard !deadline.isOver else { throw TestFailure.late(current, place, seconds) }
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      unsafe Glibc.poll(&waiting, 1, min(deadline.milliseconds, 100))
    }
  }
}
