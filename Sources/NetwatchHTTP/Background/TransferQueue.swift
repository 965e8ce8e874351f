/// Decides which transfers of a user run, and when. Pure: inputs in, outputs out.
///
/// ```
///              begin                    ended
///   waiting -----------> running --------------> over
///      ^                    | failed, or a condition does not hold any more
///      +---- stopped -------+
/// ```
///
/// Transfers begin by their priority and in their order, at most ``Item/mostOfSession`` of a session and ``Item/mostOfHost`` of a host at a
/// time. A failure that may pass is followed by a pause; when the network has changed, a failure of the network counts no longer.
package struct TransferQueue: Sendable {
  /// What the queue knows of a transfer.
  package struct Item: Hashable, Sendable {
    package var id: String
    package var number: Int
    package var session: String
    package var host: String
    /// Whether the host is an address, or a name of the local network. It may be there without a path to the internet.
    package var isLocal = false
    package var priority = 0
    package var isPaused = false
    /// When somebody wanted it to go on last, in seconds since 1970; nil if nobody has.
    package var resumed: Double?
    package var isCancelled = false
    /// Whether its request was on its way when its process ended, so that it only has to be told.
    package var isLost = false
    /// Whether its request must not be sent twice, so that it is not stopped because a condition holds no longer.
    package var isOnce = false
    package var needsUnmetered = false
    package var needsPower = false
    /// The media of which one has to carry the traffic; nil for any.
    package var media: Set<String>?
    /// The earliest time, in seconds since 1970; nil for now.
    package var notBefore: Double?
    package var mostOfSession = 4
    package var mostOfHost = 6

    package init(id: String, number: Int, session: String, host: String) {
      (self.id, self.number, self.session, self.host) = (id, number, session, host)
    }
  }

  /// A transfer by its session and its id.
  package struct Key: Hashable, Sendable {
    package var session: String
    package var id: String
  }

  /// What is around the machine.
  package struct Surroundings: Hashable, Sendable, Codable {
    package var hasPath = false
    /// Whether the path may cost money. True while that is not known.
    package var isMetered = true
    package var medium: String?
    package var isOnPower = true
    /// A text that differs between two paths, such as the name of the interface; a failure on one says nothing about another.
    package var path: String?

    package init() {}
  }

  /// The cause of a failure that may pass.
  package enum Failure: Hashable, Sendable {
    /// The path, or the connection.
    case network
    /// The server, with the time that it asks to wait.
    case server(retryAfter: Duration?)
    /// The disk is full.
    case disk
  }

  package enum Input: Sendable {
    /// These are all transfers that are not over.
    case found([Item])
    case changed(Surroundings)
    /// A running transfer is over.
    case ended(Key)
    /// A running transfer has failed, and may go on later.
    case failed(Key, Failure)
    /// A running transfer has stopped, as it was told.
    case stopped(Key)
    /// The time may have come for something.
    case tick
  }

  package enum Output: Hashable, Sendable {
    case begin(Key)
    /// Stop a running transfer, and keep what it has.
    case stop(Key)
    /// End a transfer that was cancelled, and remove what it has. It runs until it is ended.
    case cancel(Key)
    /// End a transfer of which nobody knows what the server has done. It runs until it is ended.
    case lose(Key)
    /// Come back at this time, of the monotonic clock or of the wall clock in seconds since 1970.
    case sleep(until: Duration?, wall: Double?)
    /// There is nothing left to do.
    case done
  }

  private struct Pause {
    var until: Duration
    var count: Int
    var failure: Failure
  }

  /// The longest pause after a failure of the network. If it comes back, that ends the pause.
  static let longestNetworkPause = Duration.seconds(60)
  /// The longest pause after a failure of the server, and the longest that the server may ask for.
  static let longestServerPause = Duration.seconds(3_600)
  static let diskPause = Duration.seconds(30)

  private var items: [Item] = []
  private var keys: Set<Key> = []
  private var surroundings = Surroundings()
  private var running: Set<Key> = []
  /// Those of the running ones that were told to stop.
  private var stopping: Set<Key> = []
  /// Those that are over, until they are found no more.
  private var over: Set<Key> = []
  private var pauses: [Key: Pause] = [:]

  package init(in surroundings: Surroundings = Surroundings()) { self.surroundings = surroundings }

  /// Whether any transfer waits for power, so that somebody has to look.
  package var waitsForPower: Bool { items.contains { $0.needsPower } }

  /// - Parameters:
  ///   - now: The time of the monotonic clock.
  ///   - wall: The time of the wall clock, in seconds since 1970. It may step.
  package mutating func handle(_ input: Input, at now: Duration, wall: Double) -> [Output] {
    switch input {
    case .found(let found):
      // Whoever lets a transfer go on wants to see it go on.
      let resumed = Dictionary(items.map { ($0.key, $0.resumed) }) { first, _ in first }
      for item in found where resumed[item.key] != .some(item.resumed) { pauses[item.key] = nil }
      items = found.sorted { ($1.priority, $0.number, $0.id) < ($0.priority, $1.number, $1.id) }
      keys = Set(items.map(\.key))
      over.formIntersection(keys)
      pauses = pauses.filter { keys.contains($0.key) }
    case .changed(let new):
      let isOtherPath = new.hasPath && (!surroundings.hasPath || new.path != surroundings.path)
      surroundings = new
      if isOtherPath { pauses = pauses.filter { $0.value.failure != .network } }
    case .ended(let key):
      forget(key)
      over.insert(key)
      pauses[key] = nil
    case .stopped(let key): forget(key)
    case .failed(let key, let failure):
      forget(key)
      let count = (pauses[key]?.count ?? 0) + 1
      pauses[key] = Pause(until: now + Self.pause(after: failure, count: count), count: count, failure: failure)
    case .tick: break
    }
    return decide(at: now, wall: wall)
  }

  private mutating func forget(_ key: Key) {
    running.remove(key)
    stopping.remove(key)
  }

  private static func pause(after failure: Failure, count: Int) -> Duration {
    let doubled = Duration.seconds(1 << min(count - 1, 12))
    switch failure {
    case .network: return min(doubled, longestNetworkPause)
    case .server(let wanted): return min(max(doubled, wanted ?? .zero), longestServerPause)
    case .disk: return diskPause
    }
  }

  /// Whether the conditions of a transfer hold, beside the path and its time.
  private func isAllowed(_ item: Item) -> Bool {
    !(item.needsUnmetered && surroundings.isMetered) && !(item.needsPower && !surroundings.isOnPower)
      && item.accepts(surroundings.medium)
  }

  private mutating func decide(at now: Duration, wall: Double) -> [Output] {
    var outputs: [Output] = []
    var ofSession: [String: Int] = [:]
    var ofHost: [String: Int] = [:]
    // One whose record has gone has nobody left who wants it.
    for key in running.subtracting(stopping) where !keys.contains(key) { outputs.append(stop(key)) }
    for item in items where running.contains(item.key) {
      ofSession[item.session, default: 0] += 1
      ofHost[item.host, default: 0] += 1
      // Whether a connection outlives a gap of the path is for its HTTP session to find out.
      let mayGoOn = !item.isPaused && !item.isCancelled && (item.isOnce || isAllowed(item))
      if !stopping.contains(item.key), !mayGoOn { outputs.append(stop(item.key)) }
    }
    var wake: Duration?
    var wallWake: Double?
    var isIdle = running.isEmpty
    for item in items where !running.contains(item.key) && !over.contains(item.key) {
      if item.isLost || item.isCancelled {
        running.insert(item.key)
        // There is nothing to stop.
        stopping.insert(item.key)
        outputs.append(item.isLost ? .lose(item.key) : .cancel(item.key))
        continue
      }
      if item.isPaused { continue }
      isIdle = false
      if let time = item.notBefore, time > wall {
        wallWake = min(wallWake ?? time, time)
        continue
      }
      guard surroundings.hasPath || item.isLocal, isAllowed(item) else { continue }
      if let pause = pauses[item.key], pause.until > now {
        wake = min(wake ?? pause.until, pause.until)
        continue
      }
      guard ofSession[item.session, default: 0] < item.mostOfSession, ofHost[item.host, default: 0] < item.mostOfHost
      else { continue }
      ofSession[item.session, default: 0] += 1
      ofHost[item.host, default: 0] += 1
      running.insert(item.key)
      outputs.append(.begin(item.key))
    }
    outputs.append(isIdle && running.isEmpty ? .done : .sleep(until: wake, wall: wallWake))
    return outputs
  }

  private mutating func stop(_ key: Key) -> Output {
    stopping.insert(key)
    return .stop(key)
  }
}

extension TransferQueue.Item {
  /// Whether the path may use a medium; a medium that is not known is none of those that are asked for.
  func accepts(_ medium: String?) -> Bool { media.map { media in medium.map { media.contains($0) } ?? false } ?? true }

  package var key: TransferQueue.Key { TransferQueue.Key(session: session, id: id) }
}
