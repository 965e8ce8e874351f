import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchNetlink
import NetwatchStream

// The compiler cannot check `Sendable` here, because the monitor changes without a lock. A program that passes a monitor to
// another thread must follow the rule that the monitor belongs to one thread at a time. The two calls that any thread may make
// use only data that is `Sendable`.

/// A monitor for programs that have an event loop, in any language; libnetwatch is built on it. It has no thread. The program
/// polls ``descriptor``, and calls ``dispatch()`` when the descriptor is readable.
///
/// The monitor belongs to one thread at a time, except ``beginRequest(_:)`` and ``endRequest(_:)``, which any thread may call.
/// It prints nothing unless `NETWATCH_DEBUG` is set, and starts no process unless the option `probe` is given.
public final class PolledMonitor: @unchecked Sendable {
  /// The most rounds of one ``dispatch()``, in case other threads begin and end requests all the time.
  private static let mostRounds = 16
  /// The time between two looks for the ID of the network. The kernel learns a gateway's hardware address some time after the path
  /// has changed, and reports nothing then.
  private static let networkInterval = Duration.seconds(1)

  /// The current state, as in the last line of `netwatch --follow`. If the target is a host, the status is `.unknown` and the
  /// reason `.unresolved` until a resolver has answered for the name.
  public private(set) var record = EventRecord.unresolved(sequence: 1)
  /// The closure that ``dispatch()`` calls for each change, after ``record`` has changed. It may call anything except
  /// ``dispatch()``.
  public var onChange: (() -> Void)?
  private let loop: EventLoop
  private let requests: AnnouncedRequests
  private var source: StatusSource?
  private var writer = JSONLineWriter()
  private var changes = 0
  /// The key for IDs of networks; nil if none is wanted.
  private let networkKey: [UInt8]?
  private var network: NetworkIdentity?
  private var networkTimer: LoopTimer?
  private let isProbing: Bool
  private let tellsStages: Bool
  private let judgesUplinks: Bool
  /// Whether ``dispatch()`` is running, as it is within ``onChange``.
  public private(set) var isDispatching = false
  /// The error after which the monitor gets no news any more; nil if there is none.
  private var failure: NetworkMonitorError?

  /// Starts to monitor. If the target is the internet or an address, ``record`` is known when this initializer returns. It does
  /// not wait for other programs.
  ///
  /// - Parameter options: Options of `netwatch --follow` as `name=value` or, for a flag, as `name`: target, interface, ignore,
  ///   wwan, tunnel, expensive, not-expensive, link-local, rules, hold, interfaces, network-id, no-service, activity,
  ///   activity-ignore, activity-interval, activity-patience, probe, probe-expect, probe-interval, probe-timeout, stages, nudge,
  ///   announced, portal-api, cable, each, quality, traffic, traffic-interval, signal, wifi-details, bssid. Default: none.
  /// - Throws: A `NetworkMonitorError`. If an option is invalid, the error's code is `EINVAL`, and its description is a sentence
  ///   about the first invalid option. If there is no `netwatch-http` for `probe` and `portal-api`, or it cannot run, the code is `ENOENT`.
  ///   Otherwise it is the error of the kernel.
  public init(_ options: [String] = []) throws(NetworkMonitorError) {
    do {
      var wanted = try StatusOptions(libraryOptions: options)
      wanted.countsRequests = true
      wanted.tellsFirstAtOnce = true
      wanted.configuration.startsProcesses = false
      wanted.warn = { _ in }
      isProbing = wanted.probe != nil
      if isProbing || wanted.portal != nil {
        let helper = try Self.probeHelper()
        wanted.probe?.helper = helper
        wanted.portal?.helper = helper
      }
      tellsStages = wanted.tellsStages
      judgesUplinks = wanted.configuration.judgesUplinks
      networkKey = wanted.namesNetwork ? try NetworkKey.read(warn: { _ in }) : nil
      loop = try EventLoop()
      requests = AnnouncedRequests(waking: loop.handle)
      writer.target = wanted.configuration.target
      if networkKey != nil { networkTimer = LoopTimer(on: loop) { [unowned self] in lookForNetwork() } }
      let source = try StatusSource(wanted, on: loop) { [unowned self] in take($0) }
      self.source = source
      try source.start()
    } catch {
      throw Self.error(error)
    }
    changes = 0
  }

  deinit { close() }

  /// The first line of the files of rules that is not understood, or the first file that is not trusted, in a sentence that names
  /// it; nil if there is none, or if the option `rules` is not given.
  public var rulesFault: String? { source?.ruleFaults.first?.description }

  /// The descriptor to poll; readable when ``dispatch()`` has something to do. It belongs to the monitor, so do nothing but
  /// poll it.
  public var descriptor: CInt { loop.descriptor }

  /// Reads what is available without waiting, and calls ``onChange`` for each change.
  ///
  /// - Returns: The number of changes.
  /// - Throws: A `NetworkMonitorError`. Its code is `EDEADLK` if ``onChange`` calls this function, and `ENOLINK` if the connection
  ///   to the kernel is lost for good. After `ENOLINK`, ``record`` stays as it is, and ``descriptor`` is never readable again.
  public func dispatch() throws(NetworkMonitorError) -> Int {
    if let failure { throw failure }
    guard !isDispatching else {
      throw NetworkMonitorError(
        operation: "dispatch", code: EDEADLK,
        description: "the monitor is already at work; call this after its callback")
    }
    isDispatching = true
    defer { isDispatching = false }
    changes = 0
    do throws(SystemError) {
      var rounds = 0
      repeat {
        try loop.poll()
        rounds += 1
      } while announce() && source?.failure == nil && rounds < Self.mostRounds
      if rounds == Self.mostRounds { loop.handle.wake() }
    } catch {
      source?.fail(error)
    }
    if let error = source?.failure { throw lose(error) }
    return changes
  }

  /// - Returns: Whether there are changes to handle.
  private func announce() -> Bool {
    guard let news = requests.takeNews() else { return false }
    source?.setRequests(news.running, at: news.date)
    return true
  }

  private func take(_ record: EventRecord) {
    self.record = record
    findNetwork()
    publish()
  }

  private func publish() {
    changes += 1
    onChange?()
  }

  // MARK: The state in words

  /// Calls `body` with the state as one line of JSON, including its newline. Rethrows the error of `body`.
  public func withLine<Result, Failure: Error>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
    let network: NetworkIdentity?? = networkKey == nil ? .none : .some(network)
    writer.write(record, network: network)
    return try writer.withLine(body)
  }

  /// The ID of the network that carries the traffic, as `netwatch status --network-id` prints it; nil while it is not known, or if the
  /// option `network-id` is not given. When it becomes known, ``onChange`` is called.
  public var networkID: String? { network?.description }

  /// Returns whether a condition holds: one that `netwatch --check` has for its option `--for`, such as `unmetered` or
  /// `medium=wifi`. It is about ``record``. What is not known does not hold.
  ///
  /// - Throws: A `NetworkMonitorError` with the code `EINVAL` if there is no such condition, or if it needs an option that is not
  ///   given: `probe` for `internet`, `stage=dns` and `stage=internet`; `stages` for `stage=STAGE`; `network-id` for `network=ID`; `each` for
  ///   `uplink=MEDIUM`.
  public func holds(_ condition: String) throws(NetworkMonitorError) -> Bool {
    let name = condition.sanitizedForTerminal
    func refusal(_ reason: String) -> NetworkMonitorError {
      NetworkMonitorError(operation: "holds", code: EINVAL, description: "the condition '\(name)': \(reason)")
    }
    let wanted: NetworkCondition
    do throws(PlainError) {
      wanted = try NetworkCondition.named(condition)
    } catch {
      throw refusal(error.description)
    }
    if [wanted].needStages, !tellsStages { throw refusal("open the monitor with the option stages.") }
    if [wanted].needUplinks, !judgesUplinks { throw refusal("open the monitor with the option each.") }
    if [wanted].needingProbe != nil, !isProbing { throw refusal("open the monitor with the option probe.") }
    if [wanted].needNetwork, networkKey == nil { throw refusal("open the monitor with the option network-id.") }
    return wanted.holds(for: record, in: { network })
  }

  private func findNetwork() {
    network = networkKey.flatMap { source?.network(key: $0) }
    if network == nil, record.path.isReachable { networkTimer?.set(after: Self.networkInterval) }
  }

  private func lookForNetwork() {
    findNetwork()
    if network != nil { publish() }
  }

  // MARK: Requests

  /// Announces a request: that this program waits for something from the network. Can be called from any thread.
  ///
  /// - Parameter label: A text that describes the request to people who look at the service. Text beyond 256 bytes is cut off.
  ///   Default: nil, no label.
  /// - Returns: The number of the request, for ``endRequest(_:)``.
  public func beginRequest(_ label: String? = nil) -> UInt64 { requests.begin(label) }

  /// Ends a request. Can be called from any thread. If the request has already ended, nothing happens.
  public func endRequest(_ number: UInt64) { requests.end(number) }

  /// Stops monitoring. ``record`` stays as it is.
  public func close() {
    networkTimer = nil
    source?.finish()
    source?.stop()
    source = nil
  }

  /// Closes this process's copies of the descriptors without any effect on what they refer to. Call this in a child of fork(2)
  /// if the monitor continues in the parent.
  public func abandon() {
    loop.abandon()
    // If another thread was working when the child was made, its changes are incomplete, so nothing may use or release them.
    if isDispatching { _ = unsafe Unmanaged.passRetained(self) } else { source = nil }
  }

  // MARK: The helper

  /// Returns the path of the program that makes probes.
  ///
  /// - Throws: A `NetworkMonitorError` with the code `ENOENT` if it is not installed, or the system lacks its libraries.
  private static func probeHelper() throws(NetworkMonitorError) -> String {
    do throws(PlainError) {
      let program = try HelperProgram.http.find(for: "probe", among: UserFolder.programs)
      try HelperProgram.http.checkLibraries(of: program)
      return program
    } catch {
      throw NetworkMonitorError(operation: "probe", code: ENOENT, description: error.description)
    }
  }

  // MARK: Errors

  private func lose(_ error: any Error) -> NetworkMonitorError {
    let failure = NetworkMonitorError(
      operation: "dispatch", code: ENOLINK, description: Self.error(error).description)
    self.failure = failure
    close()
    loop.removeAll()
    return failure
  }

  private static func error(_ error: any Error) -> NetworkMonitorError {
    switch error {
    case let error as NetworkMonitorError: error
    case let error as SystemError:
      NetworkMonitorError(operation: error.operation, code: error.code, description: error.description)
    case let error as PlainError:
      NetworkMonitorError(operation: "options", code: EINVAL, description: error.description)
    default: NetworkMonitorError(operation: "start", code: EIO, description: "\(error)")
    }
  }
}

/// The requests that a program has announced to a monitor that it polls. All methods can be called from any thread.
package final class AnnouncedRequests: Sendable {
  private struct State {
    var running: [UInt64: String?] = [:]
    /// The number of the newest request.
    var newest: UInt64 = 0
    /// The time of the last begin or end on the monotonic clock; nil if it has been taken already.
    var changed: Duration?
  }

  private let state = Lock(State())
  private let handle: LoopHandle

  /// - Parameter handle: The handle that wakes the loop, which then calls ``takeNews()``.
  init(waking handle: LoopHandle) { self.handle = handle }

  /// Begins a request.
  ///
  /// - Parameter label: A text that describes the request to people who look at the service; nil for none.
  /// - Returns: The number of the request, from 1.
  package func begin(_ label: String?) -> UInt64 {
    let (number, isFirst) = state.withLock { state in
      state.newest += 1
      state.running[state.newest] = .some(label)
      defer { state.changed = KernelClock.monotonic.now }
      return (state.newest, state.changed == nil)
    }
    if isFirst { handle.wake() }
    return number
  }

  /// Ends a request. If it has ended or never begun, nothing happens.
  package func end(_ number: UInt64) {
    let isFirst = state.withLock { state in
      guard state.running.removeValue(forKey: number) != nil else { return false }
      defer { state.changed = KernelClock.monotonic.now }
      return state.changed == nil
    }
    if isFirst { handle.wake() }
  }

  /// Returns the requests that run and the time of the last change. Nil if there was no change since the last call.
  fileprivate func takeNews() -> (running: RunningRequests, date: Duration)? {
    state.withLock { state in
      guard let date = state.changed else { return nil }
      state.changed = nil
      return (RunningRequests(state.running.values), date)
    }
  }
}
