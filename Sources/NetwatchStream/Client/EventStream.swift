import Netwatch
import NetwatchEventLoop

/// The events of the netwatch service: the state of the machine as soon as the service answers, then each change.
///
/// ```swift
/// for await record in try EventStream() {
///   print(record.path.status, record.activity.inFlight)
/// }
/// ```
///
/// An app reads what a status bar reads, without a netlink socket of its own: how the machine is reachable, and how many
/// requests all programs have in flight. The service is the one that `netwatch run` finds: `$NETWATCH_SOCKET`, else the user's
/// own, else the machine's.
///
/// **Every record is complete state.** You never need an earlier one. If the reader is slow, records are left out, but never
/// the newest.
///
/// **If there is no service, nothing comes** until one starts. If the service ends, one record says so: its path has the status
/// `.unknown` and the reason `.serviceLost`, and no request is in flight. When a service is back, its state comes as the next
/// record. You do not have to do anything.
///
/// **Nothing is polled.** The kernel tells when a service makes its socket. The stream then tries to connect at once, and again
/// after 20, 80 and 400 milliseconds. If the service refuses the connection, the stream waits for the next one.
///
/// **The sequence ends** when the task that reads it is cancelled; it throws no error. Several tasks may read one stream: each
/// iterator gets the state first, and each gets every change. You can use a stream from any thread or actor; it reads the socket
/// on a thread of its own, which runs as long as you hold the stream or one of its iterators.
public final class EventStream: AsyncSequence, Sendable {
  public typealias Element = EventRecord
  public typealias Failure = Never

  /// Nil until a service has answered.
  private let records = Broadcast<EventRecord?, Never>(nil)
  private let isOfThisNetwork = Lock(false)
  private let handle: LoopHandle
  private let link: LoopConfined<ServiceLink>

  /// Starts to look for a service.
  ///
  /// - Parameter trafficInterval: How often a record comes with what the link that carries the traffic receives and sends, in
  ///   ``EventRecord/traffic``; the event of such a record is ``EventRecord/Event/traffic``. At least 0.1 s, at most a day.
  ///   Default: nil, for never; then the service does not read the counters for you.
  /// - Throws: A `SystemError` if the system has no thread, descriptor or inotify instance left.
  public convenience init(trafficEvery trafficInterval: Duration? = nil) throws {
    try self.init(from: ServiceAddress.candidates, trafficEvery: trafficInterval)
  }

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
        try link.start()
        return (loop.handle, LoopConfined(link, on: loop))
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
  /// The socket of a service can be reached from every network namespace, so a container may read what the service of its host
  /// says about the host's network. False until a service has answered.
  public var sharesNetwork: Bool { isOfThisNetwork.withLock { $0 } }

  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// What is known when the service that sent `record` is gone: nothing.
  private static func loss(after record: EventRecord) -> EventRecord {
    // A service that was waited for in vain is no news.
    if record.path.reason == .serviceLost { return record }
    return EventRecord(
      sequence: record.sequence + 1, nanosecondsSince1970: KernelClock.wall.nanoseconds,
      monotonicNanoseconds: KernelClock.monotonic.nanoseconds, event: .reachability,
      path: NetworkPath(verdict: .unknown, reason: .serviceLost, interfaces: []))
  }

  /// Reads an ``EventStream``, and keeps it running.
  public struct Iterator: AsyncIteratorProtocol {
    private let stream: EventStream
    private let reader: BroadcastReader<EventRecord?, Never>

    fileprivate init(_ stream: EventStream) {
      self.stream = stream
      reader = BroadcastReader(stream.records, initial: true)
    }

    /// The next record; nil if the task is cancelled.
    public mutating func next() async -> EventRecord? { await next(isolation: #isolation) }

    /// The next record; nil if the task is cancelled.
    public mutating func next(isolation: isolated (any Actor)?) async -> EventRecord? {
      while let record = await reader.next(isolation: isolation) {
        if let record { return record }
      }
      return nil
    }
  }
}
