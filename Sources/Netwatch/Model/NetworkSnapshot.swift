/// Everything that is known of the kernel's links and addresses.
package struct NetworkSnapshot: Sendable {
  package private(set) var interfaces = InterfaceTable()
  /// Whether a link that could carry a tunnel has ever existed.
  package private(set) var hasHadCarrier = false
  /// Whether some link is to be treated as absent.
  private(set) var hasIgnoredLinks = false
  /// The first addresses of ``Destinations/internet`` that lie on no link of this machine.
  private var standIns = [Destinations.internet.ipv4[0], Destinations.internet.ipv6[0]]
  /// Whether a listing is under way. Everything is then reported anew, so the links that stand on a changed link need not be
  /// read.
  private var isListing = false
  /// During a listing, the places of all addresses among those of their links: a link may have thousands (kube-proxy with IPVS). Nil
  /// if they have to be found out.
  private var listed: [ListedAddress: Int]?
  /// Routers that were in use and do not answer.
  package private(set) var deadRouters: [Neighbour] = []
  private static let routerLimit = 16

  private struct ListedAddress: Hashable {
    let link: Int32
    let address: InternetAddress
    let prefixLength: UInt8

    init(link: Int32, _ known: InterfaceAddress) {
      self.link = link
      address = known.address
      prefixLength = known.prefixLength
    }
  }

  /// The user's rules about links. New ones apply to each link when it is reported again, as in a listing.
  var named: InterfaceRules

  /// Creates an empty snapshot.
  ///
  /// - Parameter named: The user's rules about links, by their names.
  package init(_ named: InterfaceRules = InterfaceRules()) { self.named = named }

  /// Returns the address of ``Destinations/internet`` that stands for the internet here.
  package func standIn(_ family: AddressFamily) -> InternetAddress { standIns[family == .ipv4 ? 0 : 1] }

  package func interface(_ index: Int32) -> Interface? { interfaces.interface(index) }

  func position(of index: Int32) -> Int? { interfaces.position(of: index) }

  /// Returns whether some link has this address.
  ///
  /// - Parameter index: The link that most likely has the address; 0 for none.
  package func knows(_ address: InternetAddress, on index: Int32 = 0) -> Bool {
    hasAddress(on: index) { $0.address == address }
  }

  /// Returns whether some link has a matching address.
  ///
  /// - Parameter index: The link that most likely has one. If it does, the others are not searched.
  func hasAddress(on index: Int32, where matches: (InterfaceAddress) -> Bool) -> Bool {
    if let position = position(of: index), interfaces[position].addresses.contains(where: matches) { return true }
    return interfaces.contains { $0.addresses.contains(where: matches) }
  }

  /// Returns whether some port of a bridge, bond or team can carry packets.
  func hasRunningPort(_ index: Int32) -> Bool { interfaces.hasRunningPort(index) }

  // MARK: Listings

  /// Begins a listing: everything that exists is reported anew from here on.
  package mutating func beginListing() {
    isListing = true
    interfaces.update { interface in
      interface.isListed = false
      for address in interface.addresses.indices { interface.addresses[address].isListed = false }
    }
    listed = nil
  }

  /// Returns the place of an address among those of its link; nil if it is new.
  private mutating func place(of address: InterfaceAddress, at position: Int) -> Int? {
    guard isListing else { return interfaces[position].position(of: address.address, address.prefixLength) }
    var places = listed ?? [:]
    if listed == nil {
      for interface in interfaces {
        for (place, known) in interface.addresses.enumerated() {
          places[ListedAddress(link: interface.index, known)] = place
        }
      }
    }
    listed = nil
    let key = ListedAddress(link: interfaces[position].index, address)
    let known = places[key]
    if known == nil { places[key] = interfaces[position].addresses.count }
    listed = places
    return known
  }

  /// Ends a listing and drops what it did not mention.
  package mutating func endListing() -> SnapshotDelta {
    isListing = false
    listed = nil
    var delta = SnapshotDelta()
    delta.routing = .both
    delta.isVisible = interfaces.contains { !$0.isListed || $0.addresses.contains { !$0.isListed } }
    let isSomethingGone = delta.isVisible
    if isSomethingGone { interfaces.removeAll { !$0.isListed } }
    // Also where nothing is gone: new rules may be about a link that stands on others, or about one below it.
    carryAllMedia(&delta)
    guard isSomethingGone else { return delta }
    interfaces.update { interface in interface.addresses.removeAll { !$0.isListed } }
    chooseProbeAddresses()
    return delta
  }

  // MARK: Facts

  package mutating func apply(_ event: NetworkEvent) -> SnapshotDelta {
    switch event {
    case .link(let fact): return apply(fact)
    case .linkRemoved(let index): return removeLink(index)
    case .wireless(let index, let wireless): return apply(wireless, to: index)
    case .lease(let index, let isMetered): return apply(hasMeteredLease: isMetered, to: index)
    case .address(let index, let address): return add(address, to: index)
    case .addressRemoved(let index, let address, let prefixLength):
      return remove(address, prefixLength, from: index)
    case .routing(let families, let isRemoval): return hint(families, isRemoval: isRemoval)
    case .rules(let families, let isRemoval):
      var delta = hint(families, isRemoval: isRemoval)
      delta.rules = families
      return delta
    case .neighbour(let neighbour, let isDead): return apply(neighbour, isDead: isDead)
    }
  }

  private func hint(_ families: AddressFamilies, isRemoval: Bool) -> SnapshotDelta {
    var delta = SnapshotDelta()
    delta.routing = families
    if isRemoval { delta.announcedEarly = families } else { delta.announcesRoutes = families.contains(.ipv6) }
    return delta
  }

  /// Notes whether a router answers. While the kernel looks for a dead router again and again, its entry alternates between
  /// failed and incomplete. Only the first failure counts.
  private mutating func apply(_ neighbour: Neighbour, isDead: Bool) -> SnapshotDelta {
    var delta = SnapshotDelta()
    if !isDead {
      revive(neighbour)
    } else if deadRouters.contains(neighbour) {
      return delta
    } else {
      if deadRouters.count == Self.routerLimit { deadRouters.removeFirst() }
      deadRouters.append(neighbour)
    }
    delta.routing = AddressFamilies(neighbour.address.family)
    return delta
  }

  /// Takes a router for one that answers: the kernel uses it again.
  mutating func revive(_ router: Neighbour) { deadRouters.removeAll { $0 == router } }

  private mutating func apply(_ fact: LinkUpdate) -> SnapshotDelta {
    let position: Int
    var delta = SnapshotDelta()
    if let known = self.position(of: fact.index) {
      position = known
    } else {
      // A partial message about an unknown link: the complete one is on its way, or the link is gone already.
      guard fact.isComplete, let name = fact.name else { return delta }
      position = interfaces.insert(
        Interface(index: fact.index, kernelName: name, medium: .other, operationalState: .unknown))
      delta.isVisible = true
      delta.routing = .both
    }
    let old = interfaces[position]
    let new = old.updated(by: fact, named, isNew: delta.isVisible)
    replace(old, at: position, by: new, isNew: delta.isVisible, &delta)
    return delta
  }

  private mutating func apply(_ wireless: WirelessLink?, to index: Int32) -> SnapshotDelta {
    var delta = SnapshotDelta()
    guard let position = position(of: index), interfaces[position].wireless != wireless else { return delta }
    let old = interfaces[position]
    var new = old
    new.wireless = wireless
    // nl80211 reports that the network is left before rtnetlink reports that the link is lost, and only the loss is news.
    if let wireless, wireless.ssid == nil, let known = old.wireless, known.mode == wireless.mode, old.isRunning {
      new.wireless = known
      new.wireless?.ending = wireless.ending
    }
    named.mark(&new)
    new.classify()
    replace(old, at: position, by: new, isNew: false, &delta)
    return delta
  }

  private mutating func apply(hasMeteredLease: Bool, to index: Int32) -> SnapshotDelta {
    var delta = SnapshotDelta()
    guard let position = position(of: index), interfaces[position].hasMeteredLease != hasMeteredLease else {
      return delta
    }
    let old = interfaces[position]
    var new = old
    new.hasMeteredLease = hasMeteredLease
    new.classify()
    replace(old, at: position, by: new, isNew: false, &delta)
    return delta
  }

  private mutating func replace(
    _ old: Interface, at position: Int, by new: Interface, isNew: Bool, _ delta: inout SnapshotDelta
  ) {
    interfaces.replace(at: position, by: new)
    if new.isIgnored { hasIgnoredLinks = true }
    noteCarrier(at: position)
    // A carrier that is lost and back before the message is sent changes nothing but the count.
    if !new.looksLike(old) || new.carrierLosses != old.carrierLosses || new.wifiEnding != old.wifiEnding {
      delta.isVisible = true
    }
    if isNew || new.carriesUnlike(old) {
      delta.routing = .both
      delta.dependents = dependents(of: new, and: old)
      if old.masterIndex != nil || interfaces.isStacked(new) { carryMedia(from: isNew ? nil : old, to: new, &delta) }
    }
    // Routes over a link appear and vanish after the message that it was switched on or off.
    if new.isAdministrativelyUp != old.isAdministrativelyUp { delta.announcedEarly = .both }
  }

  /// Returns the links that stand on a link, directly or over others, and those that it is or was a port of.
  private func dependents(of new: Interface, and old: Interface) -> [Int32] {
    guard !isListing else { return [] }
    var found: [Int32] = []
    func add(_ index: Int32?) {
      if let index, index != new.index, !found.contains(index), position(of: index) != nil { found.append(index) }
    }
    add(old.masterIndex)
    add(new.masterIndex)
    for other in interfaces.uppers(of: new.index) { add(other) }
    var next = 0
    while next < found.count {
      add(position(of: found[next]).flatMap { interfaces[$0].masterIndex })
      for other in interfaces.uppers(of: found[next]) { add(other) }
      next += 1
    }
    return found
  }

  private mutating func removeLink(_ index: Int32) -> SnapshotDelta {
    var delta = SnapshotDelta()
    guard let position = position(of: index) else { return delta }
    let old = interfaces[position]
    delta.dependents = dependents(of: old, and: old)
    interfaces.remove(at: position)
    if old.addresses.contains(where: \.coversProbeAddress) { chooseProbeAddresses() }
    deadRouters.removeAll { $0.interfaceIndex == index }
    listed = nil
    carryMedia(from: old, to: nil, &delta)
    delta.isVisible = true
    delta.routing = .both
    delta.announcedEarly = .both
    return delta
  }

  private mutating func add(_ address: InterfaceAddress, to index: Int32) -> SnapshotDelta {
    var delta = SnapshotDelta()
    guard let position = position(of: index) else { return delta }
    let family = AddressFamilies(address.address.family)
    guard let known = place(of: address, at: position) else {
      interfaces[position].addresses.append(address)
      if address.coversProbeAddress { chooseProbeAddresses() }
      noteCarrier(at: position)
      delta.isVisible = true
      delta.routing = family
      // Until its message has been sent, routes keep the source that they chose before (__inet_insert_ifa).
      if address.address.family == .ipv4 { delta.announcedEarly = family }
      return delta
    }
    // A renewed lifetime is no change. Nor is a change of "deprecated", but the kernel may now choose another source.
    let changed = interfaces[position].addresses[known].flags ^ address.flags
    interfaces[position].addresses[known] = address
    if changed != 0 { delta.routing = family }
    // A router that advertises a new lifetime of its route is heard of only by the lifetime of the addresses in its network.
    if address.address.family == .ipv6, address.flags & InterfaceAddress.permanentFlag == 0 {
      delta.announcesRoutes = true
    }
    delta.isVisible = changed & InterfaceAddress.relevantFlags != 0
    return delta
  }

  private mutating func remove(_ address: InternetAddress, _ prefixLength: UInt8, from index: Int32) -> SnapshotDelta {
    var delta = SnapshotDelta()
    delta.routing = AddressFamilies(address.family)
    delta.announcedEarly = delta.routing
    guard let position = position(of: index),
      let known = interfaces[position].position(of: address, prefixLength)
    else { return delta }
    let removed = interfaces[position].addresses.remove(at: known)
    listed = nil
    if removed.coversProbeAddress { chooseProbeAddresses() }
    delta.isVisible = true
    return delta
  }

  /// Remembers whether a link that could carry a tunnel has ever existed. The change may also have completed the link's
  /// bridge.
  private mutating func noteCarrier(at position: Int) {
    if hasHadCarrier { return }
    let master = interfaces[position].masterIndex.flatMap(self.position)
    hasHadCarrier = isHardware(at: position) || couldCarry(at: position) || master.map { couldCarry(at: $0) } ?? false
  }

  private mutating func chooseProbeAddresses() {
    standIns = AddressFamily.allCases.map { family in
      Destinations.internet[family].dropLast().first { standIn in !hasAddress(on: 0) { $0.covers(standIn) } }
        ?? Destinations.fallback(family)
    }
  }

  mutating func setCarried(_ medium: Medium, _ cost: LinkCost, at position: Int) {
    interfaces[position].medium = medium
    interfaces[position].cost = cost
  }
}

extension Interface {
  fileprivate func position(of address: InternetAddress, _ prefixLength: UInt8) -> Int? {
    addresses.firstIndex { $0.address == address && $0.prefixLength == prefixLength }
  }

  fileprivate func updated(by fact: LinkUpdate, _ named: InterfaceRules, isNew: Bool) -> Interface {
    var new = self
    new.flags = fact.flags
    new.hardwareType = fact.hardwareType
    new.isListed = true
    if let name = fact.name { new.kernelName = name }
    if let kind = fact.kind, kind != new.kind { new.kind = kind }
    if let state = fact.operationalState { new.operationalState = state }
    if let losses = fact.carrierLosses { new.carrierLosses = Int(losses) }
    if let device = fact.device { new.device = device }
    if let master = fact.masterIndex { new.masterIndex = master } else if fact.isComplete { new.masterIndex = nil }
    if let lower = fact.lowerIndex { new.lowerIndex = lower } else if fact.isComplete { new.lowerIndex = nil }
    if let remote = fact.remote { new.remote = remote } else if fact.isComplete { new.remote = nil }
    if fact.isComplete {
      new.activePortIndex = fact.activePortIndex
      new.isCarriedElsewhere = fact.isCarriedElsewhere
    }
    named.mark(&new)
    if isNew || !new.isKnownLike(self) { new.classify() }
    return new
  }

  /// Returns whether everything that ``classify()`` looks at is equal.
  private func isKnownLike(_ other: Interface) -> Bool {
    hardwareType == other.hardwareType && kernelName == other.kernelName && kind == other.kind
      && device == other.device && wireless == other.wireless && isNamedTunnel == other.isNamedTunnel
      && userSaysExpensive == other.userSaysExpensive && userSaysConstrained == other.userSaysConstrained
  }

  /// Sets what the link is by itself. Links that stand on others get the medium of those afterwards.
  fileprivate mutating func classify() {
    let own = Medium.classify(
      name: name, kind: kind, hardwareType: hardwareType, device: device, wireless: wireless)
    role = own == .wwan ? .base : LinkRole(kind: kind, hardwareType: hardwareType, device: device)
    if isNamedTunnel, role.tunnelKind == nil { role = .tunnel(.other) }
    switch role {
    case .upper, .master: break
    case .base, .tunnel, .sink:
      medium = own
      cost = asUserSays(LinkCost(ownExpense))
    }
  }

  /// Returns a cost with what the user says about this link in its place.
  func asUserSays(_ cost: LinkCost) -> LinkCost {
    LinkCost(
      userSaysExpensive.map { $0 ? .rule : nil } ?? cost.expense,
      isConstrained: userSaysConstrained ?? cost.isConstrained)
  }

  /// The reason why a link that stands on no other may cost money, without what the user says.
  private var ownExpense: Expense? {
    if medium == .wwan { return .modem }
    if medium == .bluetooth { return .bluetooth }
    if device.isTether { return .usb }
    return metered.map { $0 == .lease ? .lease : .beacon }
  }

  /// Returns whether everything that a list of links shows is equal.
  fileprivate func looksLike(_ other: Interface) -> Bool {
    kernelName == other.kernelName && medium == other.medium && operationalState == other.operationalState
      && (flags ^ other.flags) & Self.relevantFlags == 0
  }

  /// Returns whether something differs on which a path depends that leads over this link, or over one that stands on it.
  fileprivate func carriesUnlike(_ other: Interface) -> Bool {
    !looksLike(other) || masterIndex != other.masterIndex || lowerIndex != other.lowerIndex
      || cost != other.cost || role != other.role || remote != other.remote
      || isIgnored != other.isIgnored || activePortIndex != other.activePortIndex
      || isCarriedElsewhere != other.isCarriedElsewhere
  }
}

/// The changes that a fact has made, as far as a path or a list of links can depend on them.
package struct SnapshotDelta: Hashable, Sendable {
  /// The families whose lookups may be answered differently now.
  package var routing: AddressFamilies = []
  /// Whether something has changed that lists of links show.
  package var isVisible = false
  /// The families in which the kernel announced a change before making it; a lookup may still see the old state.
  package var announcedEarly: AddressFamilies = []
  /// The links that stand on the changed one. The kernel may report them a second later, so they are read.
  package var dependents: [Int32] = []
  /// The families whose rules have changed.
  package var rules: AddressFamilies = []
  /// Whether an IPv6 route may now end at another time than before.
  package var announcesRoutes = false

  package init() {}

  mutating func merge(_ other: SnapshotDelta) {
    routing.formUnion(other.routing)
    isVisible = isVisible || other.isVisible
    announcedEarly.formUnion(other.announcedEarly)
    rules.formUnion(other.rules)
    announcesRoutes = announcesRoutes || other.announcesRoutes
    for index in other.dependents where !dependents.contains(index) { dependents.append(index) }
  }
}

/// What the user says about links, by the names of the links or of their WiFi networks. It overrides what the kernel reports,
/// or does not report.
package struct InterfaceRules: Sendable {
  typealias Rule = @Sendable (_ name: String) -> Bool

  private let isModem: Rule?
  private let isTunnel: Rule?
  private let isIgnored: Rule?
  private let isExpensive: (@Sendable (_ interface: String, _ network: SSID?) -> Bool?)?
  private let rules: NetworkRules

  /// - Parameter machine: The rules of the machine, which count less than those of the configuration.
  package init(_ configuration: MonitorConfiguration = .init(), machine: NetworkRules = NetworkRules()) {
    isModem = configuration.isModem
    isTunnel = configuration.isTunnel
    isIgnored = configuration.ignoresInterface
    isExpensive = configuration.isExpensive
    rules = NetworkRules(machine.statements + configuration.rules.statements)
  }

  func mark(_ interface: inout Interface) {
    interface.device.isModem = isModem?(interface.name) ?? false || rules.isModem(interface)
    interface.isNamedTunnel = isTunnel?(interface.name) ?? false || rules.isTunnel(interface)
    interface.isIgnored = isIgnored?(interface.name) ?? false || rules.isIgnored(interface)
    interface.userSaysExpensive =
      isExpensive?(interface.name, interface.wireless?.ssid) ?? rules.isMetered(interface)
    interface.userSaysConstrained = rules.isConstrained(interface)
    // A link that is treated as absent is a port of nothing.
    if interface.isIgnored { interface.masterIndex = nil }
  }
}

/// The links of a machine, sorted by index, and the relations between them.
package struct InterfaceTable: Sendable {
  private var interfaces: [Interface] = []
  /// The ports of bridges, bonds and similar links, in ascending order. The ports themselves may be unknown.
  private var ports: [Int32: [Int32]] = [:]
  /// The links that name the one that they stand on, such as VLANs, and bonds with the port that sends; in ascending order.
  private var uppers: [Int32: [Int32]] = [:]

  package init(_ interfaces: some Sequence<Interface> = []) {
    for interface in interfaces { insert(interface) }
  }

  package func position(of index: Int32) -> Int? {
    let position = place(of: index)
    return position < interfaces.count && interfaces[position].index == index ? position : nil
  }

  package func interface(_ index: Int32) -> Interface? { position(of: index).map { interfaces[$0] } }

  /// Returns the place where a link is, or would have to be inserted, by bisection.
  private func place(of index: Int32) -> Int {
    var (low, high) = (0, interfaces.count)
    while low < high {
      let middle = (low + high) / 2
      if interfaces[middle].index < index { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: Changes

  /// Adds a link whose index is new.
  @discardableResult mutating func insert(_ interface: Interface) -> Int {
    relate(interface)
    let position = place(of: interface.index)
    interfaces.insert(interface, at: position)
    return position
  }

  /// Gives a link other properties. Its index stays the same.
  mutating func replace(at position: Int, by new: Interface) {
    let old = interfaces[position]
    if old.masterIndex != new.masterIndex || old.lowerDevice != new.lowerDevice
      || old.activePortIndex != new.activePortIndex
    {
      unrelate(old)
      relate(new)
    }
    interfaces[position] = new
  }

  mutating func remove(at position: Int) { unrelate(interfaces.remove(at: position)) }

  mutating func removeAll(where isSuperfluous: (Interface) -> Bool) {
    for interface in interfaces where isSuperfluous(interface) { unrelate(interface) }
    interfaces.removeAll(where: isSuperfluous)
  }

  /// Changes all links. `body` must not change the index of a link or its relations to others.
  mutating func update(_ body: (inout Interface) -> Void) {
    for position in interfaces.indices { body(&interfaces[position]) }
  }

  private mutating func relate(_ interface: Interface) {
    func add(_ lower: Int32?, _ relation: inout [Int32: [Int32]]) {
      guard let lower else { return }
      var uppers = relation[lower] ?? []
      guard !uppers.contains(interface.index) else { return }
      uppers.insert(interface.index, at: uppers.firstIndex { $0 > interface.index } ?? uppers.count)
      relation[lower] = uppers
    }
    add(interface.masterIndex, &ports)
    add(interface.lowerDevice, &uppers)
    add(interface.activePortIndex, &uppers)
  }

  private mutating func unrelate(_ interface: Interface) {
    func remove(_ lower: Int32?, _ relation: inout [Int32: [Int32]]) {
      guard let lower else { return }
      relation[lower]?.removeAll { $0 == interface.index }
      if relation[lower]?.isEmpty == true { relation[lower] = nil }
    }
    remove(interface.masterIndex, &ports)
    remove(interface.lowerDevice, &uppers)
    remove(interface.activePortIndex, &uppers)
  }

  // MARK: Relations

  /// Returns the indices of the ports of a bridge, bond or team, in ascending order. The ports themselves may be unknown.
  func ports(of index: Int32) -> [Int32] { ports[index] ?? [] }

  /// Returns the indices of the links that name this one as what they stand on, in ascending order.
  func uppers(of index: Int32) -> [Int32] { uppers[index] ?? [] }

  /// The other ends of tunnels, as far as the kernel reports them.
  var remotes: [InternetAddress] { interfaces.indices.compactMap { interfaces[$0].remote } }

  /// Returns whether some port of a bridge, bond or team can carry packets. Of an active-backup bond only the active one can; the
  /// kernel keeps a dead one active if it does not watch the ports (`miimon` 0).
  func hasRunningPort(_ index: Int32) -> Bool {
    if let active = position(of: index).flatMap({ interfaces[$0].activePortIndex }).flatMap(position),
      interfaces[active].masterIndex == index
    {
      return interfaces[active].isRunning
    }
    return ports(of: index).contains { port in position(of: port).map { interfaces[$0].isRunning } ?? false }
  }

  /// Returns whether a link stands on others, is a port of one, or carries others.
  fileprivate func isStacked(_ interface: Interface) -> Bool {
    if interface.masterIndex != nil { return true }
    switch interface.role {
    case .upper, .master: return true
    case .base, .tunnel, .sink: return uppers[interface.index] != nil
    }
  }

  /// Returns whether a link can carry packets. A bridge, bond or team can if one of its ports can.
  package func isUsable(_ interface: Interface) -> Bool {
    interface.isRunning && (!interface.needsPorts || hasRunningPort(interface.index))
  }
}

extension InterfaceTable {
  /// Returns whether a list of these links shows the same as one of others: indices, names, media, states and addresses.
  ///
  /// - Parameter showsSwitching: Whether the list tells a link that is switched off from one without a carrier.
  package func listsTheSame(as other: InterfaceTable, showsSwitching: Bool) -> Bool {
    func lists(_ one: Interface, _ two: Interface) -> Bool {
      one.index == two.index && one.kernelName == two.kernelName && one.medium == two.medium
        && one.operationalState == two.operationalState && isUsable(one) == other.isUsable(two)
        && (!showsSwitching || (one.flags ^ two.flags) & Interface.relevantFlags == 0)
        && one.addresses.elementsEqual(two.addresses) {
          $0.address == $1.address && $0.prefixLength == $1.prefixLength
            && ($0.flags ^ $1.flags) & InterfaceAddress.relevantFlags == 0
        }
    }
    return count == other.count && zip(self, other).allSatisfy(lists)
  }
}

extension InterfaceTable: RandomAccessCollection {
  package var startIndex: Int { 0 }
  package var endIndex: Int { interfaces.count }

  /// The link at a place. A change here must not alter its index or its relations to others; use ``replace(at:by:)`` for
  /// that.
  package internal(set) subscript(position: Int) -> Interface {
    _read { yield interfaces[position] }
    _modify { yield &interfaces[position] }
  }
}

extension InterfaceTable: Hashable {
  package static func == (left: InterfaceTable, right: InterfaceTable) -> Bool { left.interfaces == right.interfaces }

  package func hash(into hasher: inout Hasher) { hasher.combine(interfaces) }
}

extension InterfaceTable: ExpressibleByArrayLiteral {
  package init(arrayLiteral elements: Interface...) { self.init(elements) }
}

extension Interface {
  /// The index of the link below that the kernel names, if that link carries this one.
  var lowerDevice: Int32? {
    // The ends of a veth pair name each other, and each reports its own carrier at once. An XFRM interface that is bound to no
    // link names the loopback, whose index is 1 in each namespace (LOOPBACK_IFINDEX).
    kind == "veth" || lowerIndex == 1 ? nil : lowerIndex
  }
}
