import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The kernel's netlink on one loop: one socket of events for all watchers, and one for requests.
///
/// The source belongs to the thread of its loop. The handlers on the loop keep it alive while there are watchers.
package final class NetlinkSource {
  /// The RTNLGRP_* groups of everything that can change a path.
  private static let groups: [rtnetlink_groups] = [
    RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
    RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF,
  ]
  /// The size of the receive buffer in bytes: room for some thousand messages while the thread is busy.
  private static let receiveBufferSize = 1 << 20
  /// The shortest time that counts as a suspend. Two clocks are never read at exactly the same time, and no suspend is shorter.
  private static let suspendThreshold = Duration.milliseconds(100)

  /// The time of the turn under way, just before its first message was read.
  private(set) var moment = EventTimestamp.now
  private let events: NetlinkSocket
  private var watchers: [NetlinkReachability] = []
  let input: KernelInterface
  let loop: EventLoop
  /// The socket for requests to rtnetlink.
  let conversation: NetlinkRequestSocket
  let links: LinkQueries
  private var devices: KnownDevices
  private let wireless: WirelessMonitor
  private let leases: LeaseWatch
  private var registration: EventLoop.Registration?
  private var wallClock: WallClockWatch?
  private var suspendedTime = Duration.zero
  /// The features that this kernel lacks, as far as they were needed.
  private(set) var missingFeatures: Set<KernelFeature> = []
  private var hearsNeighbours = false

  /// Opens the sockets. They join their groups before anything is listed, so that no change is missed.
  ///
  /// - Parameters:
  ///   - input: The source of the messages. A replay has no sockets, and does nothing on the loop.
  ///   - receiveBuffer: The size of the receive buffer in bytes. Default: 1 MiB. Small ones are for tests of overruns.
  /// - Throws: A `SystemError` if the kernel refuses the sockets.
  package init(
    on loop: EventLoop, input: KernelInterface = .kernel, receiveBuffer: Int? = nil
  ) throws(SystemError) {
    self.loop = loop
    self.input = input
    devices = KnownDevices(read: input.traits)
    conversation = try NetlinkRequestSocket(
      .reply, of: input.transport, protocol: NETLINK_ROUTE, log: NetlinkDecoder.log("reply", as: .answer))
    links = try LinkQueries(by: conversation)
    wireless = WirelessMonitor(on: loop, of: input)
    leases = LeaseWatch(on: loop, of: input)
    events = try NetlinkSocket(.event, of: input.transport, log: NetlinkDecoder.log("event", as: .notification))
    try events.makeNonBlocking()
    events.setReceiveBuffer(bytes: receiveBuffer ?? Self.receiveBufferSize)
    attach(RouteFilter.program(watching: Destinations.internet.all))
    // This group comes first, because a trace does not record which group could not be joined.
    joinIfPossible(RTNLGRP_NEXTHOP, else: .nextHopEvents)
    for group in Self.groups { try events.join(group) }
    if !conversation.isStrict { missingFeatures.insert(.strictChecking) }
    wireless.isReadable = { [unowned self] in readRadios() }
    leases.hasChanged = { [unowned self] in readLeases() }
  }

  // MARK: Watchers

  func add(_ watcher: NetlinkReachability) {
    watchers.append(watcher)
    suspendedTime = Self.currentSuspendedTime
  }

  /// Starts to read events, once the first path is known.
  func follow() throws {
    guard registration == nil else { return }
    try input.follow {
      registration = try loop.watch(events.descriptor, for: .readable) { _ in self.readEvents() }
      wallClock = try WallClockWatch(on: loop) { [unowned self] in wallClockWasSet() }
    }
  }

  /// Removes a watcher. Without any watcher, the source leaves the loop.
  func remove(_ watcher: NetlinkReachability) {
    watchers.removeAll { $0 === watcher }
    if watchers.isEmpty { stop() }
  }

  private func stop() {
    if let registration { loop.remove(registration) }
    registration = nil
    wallClock = nil
    wireless.stop()
    leases.stop()
  }

  /// Whether there is no watcher.
  var isIdle: Bool { watchers.isEmpty }

  func touchMoment(because cause: KernelInterface.WakeReason) { moment = input.moment(cause) }

  /// Sets the filter to pass the routes that the watchers need, and no others.
  func watchRoutes() {
    let watches = watchers.map(\.watch)
    // The search for what carries a tunnel asks for the way to the internet.
    var addresses = Destinations.internet.all
    for address in watches.flatMap(\.addresses) where !addresses.contains(address) { addresses.append(address) }
    let inUse = Set(watches.flatMap { $0.routers.map(\.address) })
    let others = Set(watches.flatMap { $0.otherRouters.map(\.address) })
    let awaitsNeighbours = watches.contains(where: \.includesNeighbours)
    let isFiltered = attach(
      RouteFilter.program(
        watching: addresses, passesHostRoutes: watches.contains(where: \.includesHostRoutes),
        routersInUse: Array(inUse), otherRouters: Array(others), passesNeighbours: awaitsNeighbours))
    // Neighbours are subscribed to only if some matter, and if the filter drops all others.
    guard isFiltered, !hearsNeighbours, !inUse.isEmpty || awaitsNeighbours else { return }
    hearsNeighbours = true
    joinIfPossible(RTNLGRP_NEIGH, else: .neighbourEvents)
  }

  @discardableResult private func attach(_ program: [sock_filter]) -> Bool {
    let isAttached = events.attach(program)
    if !isAttached { missingFeatures.formUnion([.socketFilter, .neighbourEvents]) }
    return isAttached
  }

  private func joinIfPossible(_ group: rtnetlink_groups, else feature: KernelFeature) {
    do throws(SystemError) { try events.join(group) } catch { missingFeatures.insert(feature) }
  }

  // MARK: Reading

  /// Dumps links, then addresses. Returns false if something changed meanwhile, so that the dump may be incomplete.
  func dump(for watcher: NetlinkReachability) throws(SystemError) -> Bool {
    leases.beginListing()
    let isWhole = try links.list { identify($0) { watcher.dispatch(.fact($0)) } }
    leases.endListing { watcher.dispatch(.fact(.lease(index: $0, isMetered: $1))) }
    return isWhole
  }

  func readLink(_ index: Int32, for watcher: NetlinkReachability) throws(SystemError) {
    try links.read(index) { identify($0) { watcher.dispatch(.fact($0)) } }
  }

  func readEvents() {
    touchMoment(because: .turn(.event))
    do throws(SystemError) {
      while try events.readFrames({ receive($0, $1) }) {}
    } catch {
      return fail(error)
    }
    notifyWatchers(.drained)
  }

  /// Reads the messages of nl80211.
  func readRadios() {
    touchMoment(because: .turn(.wirelessEvent))
    let joined = wireless.read { notifyWatchers(.fact(.wireless(index: $0, $1))) }
    notifyWatchers(.drained)
    for watcher in watchers { watcher.wifi.hear(of: joined, at: moment) }
  }

  /// Reads the leases that DHCP clients have written.
  func readLeases() {
    touchMoment(because: .leases)
    leases.readAgain { notifyWatchers(.fact(.lease(index: $0, isMetered: $1))) }
    notifyWatchers(.drained)
  }

  private func receive(_ frame: NetlinkMessage, _ bytes: RawSpan) {
    if frame.kind == .overrun { return notifyWatchers(.overrun) }
    if case .event(let event) = NetlinkDecoder.message(frame, bytes, as: .notification) {
      identify(event) { notifyWatchers(.fact($0)) }
    }
  }

  /// Adds what other sources than rtnetlink know of a link.
  private func identify(_ event: NetworkEvent, _ body: (NetworkEvent) -> Void) {
    switch event {
    case .link(var fact):
      devices.identify(&fact)
      body(.link(fact))
      if let link = wireless.link(of: fact) {
        body(.wireless(index: fact.index, link))
        if link.isStation, let name = fact.name { leases.add(fact.index, name) }
      }
    case .linkRemoved(let index):
      devices.forget(index)
      wireless.forget(index)
      leases.forget(index)
      body(event)
    case .address(let index, let address):
      body(event)
      if let isMetered = leases.add(address.address, to: index) { body(.lease(index: index, isMetered: isMetered)) }
    case .addressRemoved(let index, let address, _):
      body(event)
      if let isMetered = leases.remove(address, from: index) { body(.lease(index: index, isMetered: isMetered)) }
    default:
      body(event)
    }
  }

  private func notifyWatchers(_ input: ReachabilityMachine.Input) {
    // A watcher may leave while another one is told.
    for watcher in watchers where watchers.contains(where: { $0 === watcher }) { watcher.dispatch(input) }
  }

  private func fail(_ error: SystemError) {
    stop()
    for watcher in watchers { watcher.fail(error) }
  }

  /// The features that the kernel lacks, in the order in which they are reported.
  package var missing: [KernelFeature] {
    KernelFeature.allCases.filter { missingFeatures.contains($0) || $0 == .wireless && wireless.isRefused }
  }

  /// Returns the current connection of a radio to its access point.
  func connection(of radio: Int32, hasFrequency: Bool) -> WiFiConnection? {
    wireless.connection(of: radio, hasFrequency: hasFrequency)
  }

  // MARK: Suspend

  private func wallClockWasSet() {
    let now = Self.currentSuspendedTime
    // If only the wall clock was set, nothing has happened to the network.
    guard now - suspendedTime > Self.suspendThreshold else { return }
    suspendedTime = now
    resume()
  }

  func resume() {
    touchMoment(because: .resumed)
    notifyWatchers(.resumed)
    readEvents()
  }

  private static var currentSuspendedTime: Duration { KernelClock.boot.now - KernelClock.monotonic.now }
}

/// Adds to facts about links what only sysfs knows. It reads sysfs once for each link, and again when the link is switched on:
/// the parts of a USB device appear one after another, and the link may be there before the rest. While the link of a radio has
/// no carrier, it is read each time, because rfkill may be the cause.
struct KnownDevices {
  private struct Device {
    let name: InterfaceName
    let hardwareAddress: UInt64?
    let isUp: Bool
    let traits: DeviceTraits
  }

  private var devices: [Int32: Device] = [:]
  private let read: (_ name: String, _ index: Int32, _ hardwareAddress: UInt64?) -> DeviceTraits

  /// - Parameter read: The closure that looks a link up in sysfs. It returns no traits if the entry is of another link.
  init(read: @escaping (_ name: String, _ index: Int32, _ hardwareAddress: UInt64?) -> DeviceTraits) {
    self.read = read
  }

  /// Adds the traits of a device. Software links report their kind themselves. A partial message, such as a wireless event, has
  /// a name but no address to compare; then the known traits stay.
  mutating func identify(_ fact: inout LinkUpdate) {
    guard fact.isComplete, let name = fact.name, fact.kind == nil, fact.flags & Interface.loopbackFlag == 0 else {
      return
    }
    let isUp = fact.flags & Interface.upFlag != 0
    if let known = devices[fact.index], known.name == name, known.hardwareAddress == fact.hardwareAddress,
      known.isUp || !isUp, !known.traits.isWireless || fact.flags & Interface.lowerUpFlag != 0
    {
      fact.device = known.traits
      return
    }
    let traits = read(name.text, fact.index, fact.hardwareAddress)
    devices[fact.index] = Device(name: name, hardwareAddress: fact.hardwareAddress, isUp: isUp, traits: traits)
    fact.device = traits
  }

  mutating func forget(_ index: Int32) { devices[index] = nil }
}
