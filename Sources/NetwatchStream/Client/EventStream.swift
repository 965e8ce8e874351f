import Netwatch
import NetwatchEventLoop

/// The events of the netwatch service: the machine's state as soon as the service answers, then each change.
///
/// ```swift
/// for await record in try EventStream() {
///   print(record.path.status, record.activity.inFlight)
/// }
/// ```
///
/// An app reads what a status bar reads, without a netlink socket: how the machine is reachable, and how many of the requests
/// that programs report are in flight. The service is the one that `netwatch run` uses: the one at `$NETWATCH_SOCKET` if that is
/// set, else the user's, else the machine's.
///
/// **Every record is complete state**, except for the traffic that you ask for, which has records of its own. You never need an
/// earlier one. If the reader is slow, records are left out, but never the newest.
///
/// **If there is no service, no record comes** until one starts. If the service ends, one record reports it: the path has the
/// status `.unknown` and the reason `.serviceLost`, and no request is in flight. When a service is back, the next record has
/// its state. You do not have to do anything.
///
/// **Nothing is polled.** The kernel reports when a service creates its socket. The stream then tries to connect at once, and
/// again after 20, 80 and 400 milliseconds. If none of these attempts succeeds, the stream waits for the next socket. Only a
/// service that has no room, or that ends the connection at once, is tried again after pauses, which grow from 50 milliseconds to
/// 10 seconds.
///
/// **The sequence ends** when the task that reads it is cancelled; it throws no error. Several tasks may read one stream: each
/// iterator gets the current state first, then the newest record after each change. A slow iterator misses older records. You can
/// use a stream from any thread or actor. It reads the socket on its own thread, which runs as long as you hold the stream or one
/// of its iterators.
public final class EventStream: AsyncSequence, Sendable {
  /// The type of a record.
  public typealias Element = EventRecord
  /// The stream throws no error.
  public typealias Failure = Never

  /// The newest record; nil until a service has answered.
  private let records = Broadcast<EventRecord?, Never>(nil)
  private let isOfThisNetwork = Lock(false)
  private let handle: LoopHandle
  private let link: LoopBound<ServiceLink>

  /// Starts to look for a service.
  ///
  /// - Parameter trafficInterval: The time between two records with the traffic of the link that carries the path, in
  ///   ``EventRecord/traffic``. The event of such a record is ``EventRecord/Event/traffic``. Values are limited to the range
  ///   from 0.1 seconds to one day. Default: nil, no such records; then the service does not read the counters for you.
  /// - Throws: An error of the system, if it has no thread or descriptor left.
  public convenience init(trafficEvery trafficInterval: Duration? = nil) throws {
    try self.init(from: ServiceAddress.candidates, trafficEvery: trafficInterval)
  }

  /// Starts to look for a service at `addresses`. Throws a `SystemError`.
  package init(from addresses: [ServiceAddress], trafficEvery trafficInterval: Duration? = nil) throws {
    let (records, isOfThisNetwork) = (records, isOfThisNetwork)
    (handle, link) = try EventLoop.startInBackground(
      name: "netwatch-events", ended: { _ in records.end(.success(())) },
      prepare: { loop in
        weak var current: ServiceLink?
        let link = ServiceLink(
          to: addresses, on: loop,
          record: { record in
            isOfThisNetwork.withLock { $0 = current?.sharesNetwork == true }
            records.publish(record)
          }, lost: { if let last = records.latest { records.publish(Self.loss(after: last)) } })
        let intervals = ClientMessage.trafficIntervals
        link.trafficInterval = trafficInterval.map {
          Swift.min(Swift.max($0, .seconds(intervals.lowerBound)), .seconds(intervals.upperBound))
        }
        current = link
        link.start()
        return (loop.handle, LoopBound(link, on: loop))
      })
  }

  deinit {
    handle.submit { [link] loop in
      link.value(on: loop)?.stop()
      loop.stop()
    }
  }

  /// Whether the newest record is about the network of this process.
  ///
  /// False until a service has answered. The socket of a service can be reached from every network namespace, so a container
  /// may read what its host's service reports about the host's network.
  public var sharesNetwork: Bool { isOfThisNetwork.withLock { $0 } }

  /// Returns an iterator that gets the current state first, then each change. It keeps the stream running.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// The record that follows `record` when its service is gone: nothing is known any more.
  private static func loss(after record: EventRecord) -> EventRecord {
    // If no service came since the last loss, there is nothing new to report.
    if record.path.reason == .serviceLost { return record }
    return EventRecord(
      sequence: record.sequence + 1, nanosecondsSince1970: KernelClock.wall.nanoseconds,
      monotonicNanoseconds: KernelClock.monotonic.nanoseconds, event: .reachability,
      path: NetworkPath(verdict: .unknown, reason: .serviceLost, interfaces: []))
  }

  /// Reads an ``EventStream`` and keeps it running.
  public struct Iterator: AsyncIteratorProtocol {
    private let stream: EventStream
    private let reader: BroadcastReader<EventRecord?, Never>

    fileprivate init(_ stream: EventStream) {
      self.stream = stream
      reader = BroadcastReader(stream.records, initial: true)
    }

    /// Waits for the next record and returns it. Nil if the task is cancelled.
    public mutating func next() async -> EventRecord? { await next(isolation: #isolation) }

    /// Waits for the next record on the caller's actor and returns it. Nil if the task is cancelled.
    public mutating func next(isolation: isolated (any Actor)?) async -> EventRecord? {
      while let record = await reader.next(isolation: isolation) {
        if let record { return record }
      }
      return nil
    }
  }
}
