import CLibNetlink
import Glibc
import Netwatch
import NetwatchEventLoop

/// Runs a ``ReachabilityMachine`` on the kernel: facts in, lookups out, paths published.
///
/// Belongs to a loop, whose handlers keep it alive.
package final class NetlinkReachability {
  /// When the kernel's message was read.
  package struct Moment: Hashable, Sendable {
    /// On the monotonic clock, in nanoseconds.
    package let monotonic = KernelClock.monotonic.nanoseconds
    /// Since 1970 in UTC, in nanoseconds.
    package let wall = KernelClock.wall.nanoseconds

    package static var now: Moment { Moment() }
  }

  package struct Handlers {
    /// A path that is new in some respect; the change says in which.
    package let publish: (NetworkPath, ReachabilityMachine.Change, Moment) -> Void
    /// Netlink is lost. Nothing is published any more.
    package let fail: (NetlinkError) -> Void

    package init(
      publish: @escaping (NetworkPath, ReachabilityMachine.Change, Moment) -> Void,
      fail: @escaping (NetlinkError) -> Void
    ) {
      self.publish = publish
      self.fail = fail
    }
  }

  /// RTNLGRP_* to hear of everything that can move a path.
  private static let groups: [rtnetlink_groups] = [
    RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
    RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF, RTNLGRP_NEXTHOP,
  ]
  /// Room for some thousand messages while the machine is busy elsewhere.
  private static let receiveBufferSize = 1 << 20
  /// How long to go on when listing fails at the very start.
  private static let startPatience = Duration.seconds(5)
  /// Two readings of two clocks are never quite simultaneous; no suspend is shorter.
  private static let suspendThreshold = Duration.milliseconds(100)

  private unowned let loop: EventLoop
  private let handlers: Handlers
  private let trace: NetlinkTrace?
  private let events: NetlinkSocket
  private let queries: NetlinkQueries
  private var machine: ReachabilityMachine
  private var devices = KnownDevices(read: DeviceIdentity.traits(name:index:hardwareAddress:))
  private var timers: [ReachabilityMachine.Timer: EventLoop.Timer] = [:]
  private var wallClock: WallClockWatch?
  private var suspendedTime = Duration.zero
  private var moment = Moment.now
  private var hasPublished = false
  private var registration: EventLoop.Registration?

  /// Opens the sockets. They are joined before anything is listed, so that nothing falls between.
  ///
  /// - Parameter receiveBuffer: in bytes; small ones are for tests of overruns.
  package init(
    loop: EventLoop, configuration: MonitorConfiguration, receiveBuffer: Int? = nil, handlers: Handlers
  ) throws(NetlinkError) {
    self.loop = loop
    self.handlers = handlers
    trace = .fromEnvironment()
    machine = ReachabilityMachine(configuration: configuration)
    queries = try NetlinkQueries(target: configuration.target, trace: trace)
    events = try NetlinkSocket.open()
    try events.makeNonBlocking()
    events.setReceiveBuffer(bytes: receiveBuffer ?? Self.receiveBufferSize)
    let targets = AddressFamily.allCases.compactMap { configuration.target.literal($0) }
    try events.attach(RouteFilter.program(watching: targets))
    for group in Self.groups { try events.join(group) }
  }

  package var statistics: MonitorStatistics { machine.statistics }

  /// Lists, asks and publishes the first path, all before this returns; then follows the kernel on the loop.
  package func start() throws {
    suspendedTime = Self.currentSuspendedTime
    moment = .now
    dispatch(.started)
    let deadline = KernelClock.monotonic.now + Self.startPatience
    while !hasPublished {
      guard KernelClock.monotonic.now < deadline else { throw NetlinkError(operation: "dump", code: EAGAIN) }
      dispatch(.timerFired(.retry))
    }
    registration = try loop.watch(events.descriptor, for: .readable) { _ in self.readEvents() }
    wallClock = try WallClockWatch(on: loop) { [unowned self] in wallClockWasSet() }
  }

  /// Reads everything from the kernel again.
  package func resync() {
    moment = .now
    dispatch(.started)
  }

  /// Leaves the loop. Nothing is published any more.
  package func stop() {
    if let registration { loop.remove(registration) }
    registration = nil
    wallClock = nil
    for timer in timers.values { loop.cancel(timer) }
    timers = [:]
  }

  // MARK: Events

  private func readEvents() {
    var isFirst = true
    do throws(NetlinkError) {
      reading: while true {
        let received = try events.receive()
        if isFirst { moment = .now }
        isFirst = false
        switch received {
        case .wouldBlock: break reading
        case .overrun: dispatch(.overrun)
        case .messages(let count): decode(count)
        }
      }
    } catch {
      return fail(error)
    }
    dispatch(.drained)
  }

  private func decode(_ count: Int) {
    events.withMessages(count) { bytes in
      NetlinkDecoder.decode(bytes, as: .notification) { header, message, range in
        trace?.print("event", header, message, bytes, range)
        switch message {
        case .event(let event): take(event)
        case .overrun: dispatch(.overrun)
        case .route, .done, .error, .ignored: break
        }
      }
    }
  }

  private func take(_ event: NetworkEvent) {
    switch event {
    case .link(var fact):
      devices.identify(&fact)
      dispatch(.fact(.link(fact)))
    case .linkRemoved(let index):
      devices.forget(index)
      dispatch(.fact(event))
    default:
      dispatch(.fact(event))
    }
  }

  private func wallClockWasSet() {
    let now = Self.currentSuspendedTime
    // A step of the wall clock alone means nothing.
    guard now - suspendedTime > Self.suspendThreshold else { return }
    suspendedTime = now
    moment = .now
    dispatch(.resumed)
    readEvents()
  }

  private static var currentSuspendedTime: Duration { KernelClock.boot.now - KernelClock.monotonic.now }

  // MARK: Effects

  private func dispatch(_ event: ReachabilityMachine.Event) {
    machine.handle(event, at: .nanoseconds(moment.monotonic)).forEach { perform($0) }
  }

  private func perform(_ effect: ReachabilityMachine.Effect) {
    do throws(NetlinkError) {
      switch effect {
      case .list:
        dispatch(.listingBegan)
        dispatch(.listingEnded(isWhole: try queries.list { take($0) }))
      case .settle: try queries.settle()
      case .readLink(let index): try queries.readLink(index) { take($0) }
      case .lookUp(let request): dispatch(.answered(request, try queries.lookUp(request)))
      case .arm(let timer, let deadline): arm(timer, at: deadline)
      case .disarm(let timer):
        if let armed = timers.removeValue(forKey: timer) { loop.cancel(armed) }
      case .publish(let change):
        hasPublished = true
        // Field by field: asking the machine for a path would copy the machine.
        let path = NetworkPath(
          verdict: machine.published, reason: machine.reason, interfaces: machine.evaluator.snapshot.interfaces,
          allowsLinkLocalIPv4: machine.evaluator.configuration.allowsLinkLocalIPv4)
        handlers.publish(path, change, moment)
      }
    } catch {
      dispatch(.failed)
    }
  }

  private func arm(_ timer: ReachabilityMachine.Timer, at deadline: Duration) {
    if let armed = timers[timer] { loop.cancel(armed) }
    timers[timer] = loop.schedule(at: deadline) { [unowned self] in
      timers[timer] = nil
      moment = .now
      dispatch(.timerFired(timer))
    }
  }

  private func fail(_ error: NetlinkError) {
    stop()
    handlers.fail(error)
  }
}
