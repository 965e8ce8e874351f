/// The pauses between attempts at something that fails for a reason that passes, such as no free descriptor or a service that has
/// too many connections: 50 milliseconds, then twice as long each time, up to 10 seconds. Each pause is shortened by up to a half
/// at random, so that programs that failed together do not try again together. Pure.
package struct Backoff: Hashable, Sendable {
  /// The first pause, before it is shortened.
  package static let first = Duration.milliseconds(50)
  /// The longest pause, before it is shortened.
  package static let longest = Duration.seconds(10)

  private var pause = Self.first

  /// Creates a backoff whose next pause is the first one.
  package init() {}

  /// Returns the pause before the next attempt.
  ///
  /// - Parameter chance: A random number from 0 to 1: how much of the random part is kept.
  package mutating func nextPause(chance: Double = .random(in: 0...1)) -> Duration {
    defer { pause = min(pause * 2, Self.longest) }
    return pause / 2 + pause / 2 * chance
  }
}

/// Does something that may fail for a reason that passes, and tries again after the pauses of a ``Backoff`` until it succeeds. It
/// belongs to the thread of its loop, and gives up when it is released.
package final class Retry {
  private let attempt: () -> Bool
  private var backoff = Backoff()
  private var timer: LoopTimer?

  /// - Parameter attempt: The closure that returns whether it has succeeded. It is called by ``begin()`` for the first time.
  package init(on loop: EventLoop, _ attempt: @escaping () -> Bool) {
    self.attempt = attempt
    timer = LoopTimer(on: loop) { [unowned self] in tryAgain() }
  }

  /// Makes the first attempt now.
  package func begin() {
    backoff = Backoff()
    tryAgain()
  }

  /// Makes the first attempt after a pause.
  package func beginLater() {
    backoff = Backoff()
    timer?.set(after: backoff.nextPause())
  }

  /// Stops trying.
  package func stop() { timer?.stop() }

  private func tryAgain() {
    // The closure may release this object.
    let timer = timer
    if !attempt() { timer?.set(after: backoff.nextPause()) }
  }
}
