import Netwatch

/// Decides when a machine connects to its broker, and what it publishes. Pure: inputs in, outputs out.
///
/// ```
///            connect                 connected
///   resting ---------> connecting -------------> connected
///      ^                   | disconnected            | disconnected
///      +-------------------+-------------------------+
/// ```
///
/// Each line waits until the broker has acknowledged it. After a new connection, what was on its way is published again, in its order;
/// readers know lines by their identity.
package struct PublisherMachine: Sendable {
  package enum Input: Sendable {
    /// A line of the stream, with when it was written in nanoseconds since 1970, and how reachable the machine is.
    case line([UInt8], time: Int64, status: String)
    case connected
    case disconnected
    /// The broker has what was published with this token.
    case acknowledged(Int)
    /// The time may have come for something.
    case tick
    /// The program ends.
    case stop
  }

  package enum Output: Hashable, Sendable {
    case connect
    /// Publish that the machine is there, or that it has ended.
    case announce(FleetPresence.Absence?)
    case publish(WaitingLine, token: Int)
    /// Publish a sign of life, with the number of lines that wait.
    case sign(waiting: Int)
    /// Lines were added to those that wait.
    case append(count: Int)
    /// The first of those that wait are not needed any more.
    case remove(count: Int)
    /// Other lines wait than before.
    case replace
    /// End the connection, over which the broker takes nothing. ``Input/disconnected`` follows.
    case giveUp
    /// Come back at this time of the monotonic clock.
    case sleep(until: Duration)
    /// Nothing is left to tell; the program can end.
    case finish
  }

  /// The pauses between connections: twice as long each time.
  package static let firstPause = Duration.seconds(1)
  package static let longestPause = Duration.seconds(60)
  /// The most lines that are on their way at a time.
  package static let window = 64
  /// The time within which the broker acknowledges one of the lines on their way. One with a full disk may answer pings, and take nothing.
  package static let patience = Duration.seconds(30)
  /// The most bytes that wait, also if they are fewer lines than the limit: a line has up to 64 KiB.
  package static let mostBytes = 64 * 1_024 * 1_024
  /// The time after which a machine says again what it is called: an engine keeps what was said for a time only.
  package static let repetition = Duration.seconds(86_400)
  /// How many times within its silence a machine gives a sign.
  package static let signs = 3

  private enum Phase: Hashable, Sendable {
    case resting(until: Duration)
    case connecting
    case connected(nextSign: Duration, nextWord: Duration)
    case stopped
  }

  /// A line on its way, or one that has arrived before an earlier one.
  private struct Flight: Sendable {
    var token: Int
    var hasArrived = false
  }

  private let run: FleetRun
  private let limit: Int
  private let silence: Duration
  private var phase: Phase
  private var pause = Self.firstPause
  /// The lines that wait for the broker, the oldest first.
  package private(set) var waiting: ArraySlice<WaitingLine>
  private var bytes: Int
  /// When the broker acknowledged a line, or began to owe it.
  private var progress = Duration.zero
  /// Those at the beginning of ``waiting`` that are on their way.
  private var flights: [Flight] = []
  private var number: Int64 = 0
  private var nextToken = 0
  private var status: (text: String, since: Int64)?

  /// - Parameters:
  ///   - run: The run of the program.
  ///   - waiting: The lines that earlier runs have left.
  ///   - limit: The most lines that wait. Beyond it, the oldest become a gap.
  ///   - silence: The time without a sign after which the machine counts as offline.
  ///   - now: The time of the monotonic clock.
  package init(run: FleetRun, waiting: [WaitingLine], limit: Int, silence: Duration, at now: Duration) {
    (self.run, self.limit, self.silence) = (run, limit, silence)
    self.waiting = waiting[...]
    bytes = waiting.reduce(0) { $0 + $1.payload.count }
    phase = .resting(until: now)
  }

  /// - Parameter chance: A random number from 0 to 1, so that machines that lost the broker together do not come back together.
  package mutating func handle(_ input: Input, at now: Duration, chance: Double) -> [Output] {
    switch input {
    case .line(let bytes, let time, let status):
      let owedNothing = flights.isEmpty
      let outputs = add(bytes, time, status) + send(at: now)
      guard owedNothing, !flights.isEmpty, case .connected(let next, _) = phase else { return outputs }
      return outputs + [sleep(until: next)]
    case .connected:
      guard case .connecting = phase else { return [] }
      phase = .connected(nextSign: now + interval, nextWord: now + Self.lateWill(silence))
      return [.announce(nil)] + send(at: now) + [sleep(until: now + interval)]
    case .disconnected:
      if case .stopped = phase { return [] }
      flights = []
      let until = now + pause / 2 + pause / 2 * chance
      phase = .resting(until: until)
      pause = min(pause * 2, Self.longestPause)
      return [.sleep(until: until)]
    case .acknowledged(let token):
      guard let place = flights.firstIndex(where: { $0.token == token }) else { return [] }
      // A broker that only accepts connections, and then closes them, is not asked every second.
      pause = Self.firstPause
      progress = now
      flights[place].hasArrived = true
      let count = flights.prefix { $0.hasArrived }.count
      guard count > 0 else { return [] }
      flights.removeFirst(count)
      bytes -= waiting.prefix(count).reduce(0) { $0 + $1.payload.count }
      waiting = waiting.dropFirst(count)
      return [.remove(count: count)] + send(at: now)
    case .tick: return tick(at: now)
    case .stop:
      defer { phase = .stopped }
      if case .connected = phase { return [.announce(.ended)] }
      return [.finish]
    }
  }

  private var interval: Duration { silence / Self.signs }

  /// The time after which a broker has told the last will of an earlier run, which it retains, so that the machine then has to say again
  /// that it is there. MQTT has it come after 1.5 times the keep-alive, a third of the silence; mosquitto looks every 6 seconds.
  private static func lateWill(_ silence: Duration) -> Duration { silence / signs * 3 / 2 + .seconds(10) }

  private mutating func tick(at now: Duration) -> [Output] {
    switch phase {
    case .resting(let until):
      guard now >= until else { return [.sleep(until: until)] }
      phase = .connecting
      return [.connect]
    case .connected(let next, let word):
      if let deadline, now >= deadline { return [.giveUp] }
      guard now >= next else { return [sleep(until: next)] }
      pause = Self.firstPause
      // After a suspend, the signs that were due meanwhile are not given.
      let isDue = now >= word
      phase = .connected(nextSign: now + interval, nextWord: isDue ? now + Self.repetition : word)
      let again: [Output] = isDue ? [.announce(nil)] : []
      return again + [.sign(waiting: waiting.count), sleep(until: now + interval)]
    case .connecting, .stopped: return []
    }
  }

  private mutating func add(_ bytes: [UInt8], _ time: Int64, _ text: String) -> [Output] {
    if status?.text != text { status = (text, time) }
    number += 1
    let line = WaitingLine(FleetLine(run: run, number: number, content: .line(bytes), since: status?.since))
    waiting.append(line)
    self.bytes += line.payload.count
    // A tenth more, so that not each line writes the file anew.
    guard waiting.count > limit + limit / 10 || self.bytes > Self.mostBytes else { return [.append(count: 1)] }
    drop(max(waiting.count - limit, waiting.count / 10))
    return [.replace]
  }

  /// Makes gaps of the oldest lines that are not on their way, one for each run.
  private mutating func drop(_ count: Int) {
    let start = waiting.startIndex + flights.count
    let end = min(start + count, waiting.endIndex)
    var gaps: [WaitingLine] = []
    // No number is so high that two of them overflow.
    for line in waiting[start..<end] {
      let lost = max(line.lost, 1)
      let earlier = gaps.last?.run == line.run ? gaps.removeLast().lost : 0
      gaps.append(
        WaitingLine(FleetLine(run: line.run, number: line.number, content: .gap(min(earlier + lost, line.number)))))
    }
    waiting = (waiting[..<start] + gaps + waiting[end...])[...]
    bytes = waiting.reduce(0) { $0 + $1.payload.count }
  }

  /// When the connection is given up; nil if the broker owes nothing.
  private var deadline: Duration? { flights.isEmpty ? nil : progress + Self.patience }

  private func sleep(until time: Duration) -> Output { .sleep(until: min(time, deadline ?? time)) }

  /// Publishes the next lines, as far as the window goes.
  private mutating func send(at now: Duration) -> [Output] {
    guard case .connected = phase else { return [] }
    if flights.isEmpty { progress = now }
    var outputs: [Output] = []
    while flights.count < min(Self.window, waiting.count) {
      outputs.append(.publish(waiting[waiting.startIndex + flights.count], token: nextToken))
      flights.append(Flight(token: nextToken, ))
      nextToken &+= 1
    }
    return outputs
  }
}
