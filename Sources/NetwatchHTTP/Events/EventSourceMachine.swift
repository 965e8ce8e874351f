/// Decides when a stream of server-sent events connects, waits and ends. Pure: events in, effects out.
///
/// ```
///           began                 200, text/event-stream
///   idle ---------> connecting ----------------------------> open
///                    ^      |  failed, too late                |
///    time is over,   |      v                                  | ended, lost
///    path is back    +-- waiting <-----------------------------+
///
///   any of them ----> over: 204, another answer, a failure that will come again, too many failures
/// ```
struct EventSourceMachine: Sendable {
  enum Event: Hashable, Sendable {
    case began
    /// The time of an ``Effect/arm(token:after:)`` has come.
    case timerFired(token: UInt64)
    case pathChanged(hasPath: Bool)
    case answered(status: Int, isEventStream: Bool)
    /// - Parameter retry: The last time to wait that the server has sent. Nil if it has sent none.
    case received(retry: Duration?)
    case ended(End)
  }

  enum End: Hashable, Sendable {
    /// The server has ended the response.
    case complete
    case failed(isPathLoss: Bool)
    /// Another attempt would fail in the same way, or is not wanted.
    case hopeless
  }

  /// The effects, to be carried out in order.
  enum Effect: Hashable, Sendable {
    /// Make the next request, but do not send it.
    case prepare
    /// Send the request.
    case connect
    /// Cancel the request, and ignore anything that it still reports.
    case abort
    /// Start a timer, which replaces an earlier one.
    case arm(token: UInt64, after: Duration)
    case disarm
    /// The stream is over.
    /// - Parameter isFailure: Whether the stream ends with the last failure.
    case finish(isFailure: Bool)
  }

  enum Phase: Hashable, Sendable {
    case idle
    case connecting
    case open
    case waiting(until: Duration)
    case over
  }

  struct Settings: Hashable, Sendable {
    var retryDelay = Duration.seconds(3)
    var maximumRetryDelay = Duration.seconds(60)
    var maximumFailures: Int?
    var retriedStatusCodes: Set<Int> = []
    /// The time that a server may take to answer. Nil for no limit.
    var answerTimeout: Duration?
    /// Whether the request may be sent again.
    var mayRepeat = true
  }

  /// The shortest wait after a first failure, because a server may ask for no wait and then disappear.
  private static let leastBackoff = Duration.milliseconds(100)
  /// More doublings make no difference for any delay.
  private static let mostDoublings = 32

  private(set) var phase = Phase.idle
  private let settings: Settings
  private var retry: Duration
  /// The number of successive connections that have received nothing.
  private var failures = 0
  private var hasReceived = false
  private var hasPath: Bool
  /// Whether the path has returned while there was a connection that may have been made over the old path.
  private var hasPathReturned = false
  /// The token of the newest timer. Older ones are ignored.
  private var token: UInt64 = 0

  init(_ settings: Settings, hasPath: Bool) {
    self.settings = settings
    self.hasPath = hasPath
    retry = settings.retryDelay.asDelay
  }

  /// - Parameters:
  ///   - now: The time since an arbitrary start.
  ///   - jitter: A random number from 0 to 1.
  mutating func handle(_ event: Event, at now: Duration, jitter: Double) -> [Effect] {
    switch (phase, event) {
    case (.over, _): return []
    case (_, .pathChanged(let hasPath)): return pathChanged(hasPath)
    case (.idle, .began):
      phase = .connecting
      return [.prepare, .connect] + awaitAnswer()
    case (.waiting, .timerFired(token)): return connect()
    case (.connecting, .timerFired(token)): return [.abort] + failed(at: now, jitter, isPathLoss: false)
    case (.connecting, .answered(let status, let isEventStream)):
      return answered(status, isEventStream, at: now, jitter)
    case (.open, .received(let retry)):
      failures = 0
      hasReceived = true
      hasPathReturned = false
      self.retry = (retry ?? self.retry).asDelay
      return []
    case (.open, .ended(.complete)) where !settings.mayRepeat: return over(isFailure: false)
    case (_, .ended(.hopeless)): return over(isFailure: true)
    case (.connecting, .ended(let end)), (.open, .ended(let end)):
      return failed(at: now, jitter, isPathLoss: end == .failed(isPathLoss: true))
    case (_, .began), (_, .timerFired), (_, .answered), (_, .received), (_, .ended): return []
    }
  }

  private mutating func pathChanged(_ hasPath: Bool) -> [Effect] {
    let isBack = hasPath && !self.hasPath
    self.hasPath = hasPath
    guard isBack else { return [] }
    if case .waiting = phase { return connect() }
    hasPathReturned = true
    return []
  }

  private mutating func connect() -> [Effect] {
    phase = .connecting
    return [.connect] + awaitAnswer()
  }

  private mutating func awaitAnswer() -> [Effect] {
    hasReceived = false
    hasPathReturned = false
    token += 1
    return settings.answerTimeout.map { [.arm(token: token, after: $0)] } ?? [.disarm]
  }

  private mutating func answered(
    _ status: Int, _ isEventStream: Bool, at now: Duration, _ jitter: Double
  ) -> [Effect] {
    if status == 200, isEventStream {
      phase = .open
      token += 1
      return [.disarm]
    }
    if settings.retriedStatusCodes.contains(status) { return [.abort] + failed(at: now, jitter, isPathLoss: false) }
    return [.abort] + over(isFailure: status != 204)
  }

  private mutating func over(isFailure: Bool) -> [Effect] {
    phase = .over
    return [.disarm, .finish(isFailure: isFailure)]
  }

  // MARK: The next attempt

  private mutating func failed(at now: Duration, _ jitter: Double, isPathLoss: Bool) -> [Effect] {
    if !hasReceived { failures += 1 }
    guard settings.mayRepeat, settings.maximumFailures.map({ failures < max($0, 1) }) ?? true else {
      return over(isFailure: true)
    }
    let isBack = hasPath && (hasPathReturned || isPathLoss && failures <= 1)
    let delay = isBack ? .zero : delay(jitter)
    guard delay > .zero else {
      phase = .connecting
      return [.prepare, .connect] + awaitAnswer()
    }
    phase = .waiting(until: now + delay)
    token += 1
    return [.prepare, .arm(token: token, after: delay)]
  }

  /// The time that the server asks for after a useful connection. After each connection that received nothing, it is about
  /// twice as long.
  private func delay(_ jitter: Double) -> Duration {
    let most = settings.maximumRetryDelay.asDelay
    let least = min(retry, most)
    guard failures > 0 else { return least }
    var delay = max(least, Self.leastBackoff)
    for _ in 0..<min(failures, Self.mostDoublings) where delay < most { delay += delay }
    let part = 0.5 + min(max(jitter, 0), 1) / 2
    return max(min(delay, most) * part, least)
  }
}
