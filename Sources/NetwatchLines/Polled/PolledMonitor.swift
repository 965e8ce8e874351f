import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// A monitor for programs with a loop of their own, in any language: libnetwatch stands on it. It has no thread. The program polls
/// ``descriptor``, and calls ``dispatch()`` when that is readable.
///
/// The monitor belongs to one thread at a time, but for ``beginRequest(_:)`` and ``endRequest(_:)``, which any thread may call. It
/// prints nothing, and starts no process.
///
/// `@unchecked`: whoever hands a monitor to another thread keeps to that; both calls only reach what is `Sendable`.
public final class PolledMonitor: @unchecked Sendable {
  /// Rounds of one ``dispatch()`` at most, if other threads begin and end requests all the time.
  private static let mostRounds = 16

  /// The state as the last line of `netwatch --follow` would have it. If the target is a host, its status is `.unknown` and its
  /// reason `.unresolved` until the name was looked up.
  public private(set) var record = EventRecord.unresolved(sequence: 1)
  /// Called by ``dispatch()`` for each change, after ``record`` has changed. Anything is allowed in it but ``dispatch()``.
  public var onChange: (() -> Void)?
  private let loop: EventLoop
  private let requests: AnnouncedRequests
  private var source: LineSource?
  private var changes = 0
  /// Whether ``dispatch()`` is at work, as it is within ``onChange``.
  public private(set) var isDispatching = false
  /// What is lost for good.
  private var failure: NetworkMonitorError?

  /// Begins to watch. For the internet or an address, ``record`` is known when this returns; it waits for nobody.
  ///
  /// - Parameter options: What `netwatch --follow` would be given, as `name=value` or, of a flag, `name`: target, interface, ignore,
  ///   wwan, tunnel, hold, link-local, interfaces, no-service, activity, activity-ignore, activity-interval, activity-patience.
  /// - Throws: An error with the code `EINVAL` and a sentence about the first option that makes no sense, or what the kernel
  ///   says.
  public init(_ options: [String] = []) throws(NetworkMonitorError) {
    do {
      var wanted = try LineSource.Options(options)
      wanted.countsRequests = true
      wanted.tellsFirstAtOnce = true
      wanted.configuration.startsProcesses = false
      wanted.say = { _ in }
      loop = try EventLoop()
      requests = AnnouncedRequests(waking: loop.handle)
      let source = try LineSource(wanted, on: loop) { [unowned self] in take($0) }
      self.source = source
      try source.start()
    } catch {
      throw Self.error(error)
    }
    changes = 0
  }

  deinit { close() }

  /// Readable when ``dispatch()`` has something to do. It is the monitor's own: poll it, and do nothing else with it.
  public var descriptor: CInt { loop.descriptor }

  /// Reads what is there, without waiting, and calls ``onChange`` for each change.
  ///
  /// - Returns: The number of changes.
  /// - Throws: An error with the code `EDEADLK` within ``onChange``, and `ENOLINK` when the kernel's news are lost for good: from
  ///   then on ``record`` stays as it is, and ``descriptor`` is never readable again.
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

  /// - Returns: Whether there is something to tell.
  private func announce() -> Bool {
    guard let news = requests.takeNews() else { return false }
    source?.setRequests(news.running, at: news.date)
    return true
  }

  private func take(_ record: EventRecord) {
    self.record = record
    changes += 1
    onChange?()
  }

  /// Announces a request: something that this program waits for from the network. From any thread.
  ///
  /// - Parameter label: A text for people who look at the service; what is beyond 256 bytes of it is cut off. Default: none.
  /// - Returns: A number for ``endRequest(_:)``.
  public func beginRequest(_ label: String? = nil) -> UInt64 { requests.begin(label) }

  /// Ends a request. From any thread. If it has ended before, nothing happens.
  public func endRequest(_ number: UInt64) { requests.end(number) }

  /// Watches no more. ``record`` stays as it is.
  public func close() {
    source?.finish()
    source?.stop()
    source = nil
  }

  /// Gives up this process's copies of the descriptors, and does nothing to what they lead to: for a child that fork(2) has made,
  /// where the monitor goes on to be the parent's.
  public func abandon() {
    loop.abandon()
    // If another thread was at work when the child was made, what it was about to change is not whole: nobody may touch it.
    if isDispatching { _ = unsafe Unmanaged.passRetained(self) } else { source = nil }
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
    case let error as NetlinkError:
      NetworkMonitorError(operation: error.operation, code: error.code, description: error.description)
    case let error as SystemError:
      NetworkMonitorError(operation: error.operation, code: error.code, description: error.description)
    case let error as PlainError:
      NetworkMonitorError(operation: "options", code: EINVAL, description: error.description)
    default: NetworkMonitorError(operation: "start", code: EIO, description: "\(error)")
    }
  }
}
