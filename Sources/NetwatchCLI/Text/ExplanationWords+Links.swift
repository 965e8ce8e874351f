import Netwatch

/// The words about the links of a way: their state, their addresses, the links beneath a tunnel, and the carrier of the
/// traffic.
extension ExplanationWords {
  // MARK: Links

  func link(_ index: Int32, _ fault: ReachabilityReason?) -> Explanation.Step {
    guard let interface = findings.snapshot.interface(index) else {
      return .init(topic: .link, text: "number \(index) is not there any more", isFault: true)
    }
    var state = ["switched off"]
    if interface.isAdministrativelyUp {
      state = ["switched on", interface.hasCarrier ? "carrier" : "no carrier"]
      // The other states say no more than the carrier does.
      if [.dormant, .testing, .notPresent].contains(interface.operationalState) {
        state.append("\(interface.operationalState.name)".words)
      }
    }
    let advice = fault.flatMap { interface.advice(on: $0) }.map { "; " + $0 } ?? ""
    return .init(
      topic: .link, text: "\(interface.shownName): " + state.joined(separator: ", ") + advice, isFault: fault != nil,
      facts: [
        ("interface", .string(interface.name)), ("up", .bool(interface.isAdministrativelyUp)),
        ("carrier", .bool(interface.hasCarrier)),
        ("operational_state", .string("\(interface.operationalState.name)")),
      ])
  }

  // MARK: Sources

  func source(_ address: IPAddress?) -> Explanation.Step {
    guard let address else { return .init(topic: .source, text: "any") }
    let owner = findings.snapshot.interfaces.first { $0.addresses.contains { $0.address == address } }
    return .init(
      topic: .source, text: "\(address)" + (owner.map { " of \($0.shownName)" } ?? ""),
      facts: [("address", .string("\(address)"))])
  }

  /// Returns the step for a missing source address. The kernel may name a useless address, such as ::1, so the step lists the
  /// addresses of the link, which the user can correct.
  func noSource(_ named: IPAddress?, _ family: AddressFamily, over index: Int32) -> Explanation.Step {
    let addresses = findings.snapshot.interface(index)?.addresses.filter { $0.address.family == family } ?? []
    var flaws = addresses.map { "\($0.address)\(flaw($0))" }
    if let named, !isOwn(named) { flaws.append("\(named), which the route asks for, is on no link") }
    let text =
      flaws.isEmpty
      ? "\(name(index)) has no \(family.shownName) address"
      : "\(name(index)) has no address that works: \(flaws.joined(separator: "; "))"
    return .init(topic: .source, text: text, isFault: true, facts: [("address", .null)])
  }

  private func flaw(_ address: InterfaceAddress) -> String {
    if address.flags & InterfaceAddress.duplicateFlag != 0 { return " is another machine's too" }
    if address.address.isLinkLocal { return " works only within the link (link-local)" }
    if address.flags & InterfaceAddress.tentativeFlag != 0 { return " is still being checked for duplicates" }
    guard address.address.family == .ipv4, address.scope > 0 else { return " is not used here" }
    // RT_SCOPE_HOST of <linux/rtnetlink.h>.
    return address.scope == 254
      ? " is only for this machine itself (scope host)" : " is only for destinations on the link (scope link)"
  }

  // MARK: Tunnels

  func tunnel(
    _ index: Int32, _ kind: TunnelKind, _ evidence: EvaluationTrail.Evidence
  ) -> Explanation.Step {
    let way =
      switch evidence {
      case .link(let lower): "stands on \(name(lower))"
      case .marks(let marks): "its own packets carry the mark \(marks.map(hex).joined(separator: " or "))"
      case .remote(let remote): "its other end is \(remote)"
      case .hostRoutes(let links) where links.count == 1:
        "a route to a single address, as VPN clients write one to their server, leads over \(names(links))"
      case .hostRoutes(let links):
        "routes to single addresses lead over \(names(links)), so which one carries it is not known"
      case .bestLink:
        "nothing shows what carries it, so netwatch asks for the best route over the links that are no tunnels"
      case .elsewhere: "it was made in another network namespace and sends its own packets there"
      case .translation: "with a source of 192.0.0.0/29 it is this machine's end of 464XLAT, which IPv6 carries"
      case .container where kind == .wireguard:
        "in this container no other link could carry it, so it was made outside and sends its own packets there"
      case .container:
        "in this container no other link could carry it, so a program outside carries it, and this tunnel counts as the way out"
      case .loop: "it leads back into itself"
      }
    return .init(
      topic: .tunnel, text: "\(name(index)) is a tunnel (\(kind.rawValue)); \(way)", isFault: evidence == .loop,
      facts: [("interface", .string(rawName(index))), ("kind", .string(kind.rawValue))])
  }

  /// Returns the step that says which links could carry a tunnel.
  func candidates(_ links: [Int32]) -> Explanation.Step {
    let text =
      links.count == 1
      ? "\(names(links)) is the only link that could carry it"
      : "\(names(links)) could carry it, and none has a route to a single address, such as a VPN's server"
    return .init(
      topic: .tunnel, text: "no default route is left beside the tunnel; \(text)",
      facts: [("candidates", .array(links.map { .string(rawName($0)) }))])
  }

  private func names(_ links: [Int32]) -> String { links.map(name).joined(separator: ", ") }

  // MARK: Media

  /// Returns the step that says which medium carries the traffic, how that is known, and what the link stands on.
  func media(of index: Int32) -> [Explanation.Step] {
    guard let interface = findings.snapshot.interface(index) else { return [] }
    var text = "\(interface.shownName) is \(interface.medium.rawValue)"
    switch interface.role {
    case .base, .tunnel, .sink: text += " (\(mark(of: interface)))"
    case .stacked, .aggregate: text += ", a \(interface.kind ?? "stack") " + foundation(of: interface)
    }
    let radio = findings.snapshot.radio(below: index)
    if let ssid = radio?.wireless?.ssid { text += " in “\(ssid.text.harmless)”" }
    if let cost = cost(of: interface, radio) { text += "; \(cost)" }
    if interface.isConstrained { text += "; your rules ask to send little over it" }
    return [
      .init(
        topic: .medium, text: text,
        facts: [("interface", .string(interface.name)), ("medium", .string(interface.medium.rawValue))])
    ]
  }

  /// Returns why the traffic may cost money or costs nothing. Nil if that is clear from the medium.
  private func cost(of interface: Interface, _ radio: Interface?) -> String? {
    if let word = interface.userSaysExpensive ?? radio?.userSaysExpensive {
      return word
        ? "your options or rules say that it may cost money" : "your options or rules say that it costs nothing"
    }
    switch interface.isExpensive ? radio?.metered : nil {
    case .networkCost?: return "its access point says that data is metered (network cost element)"
    case .personalHotspot?: return "its access point says that it is a phone's hotspot (Apple's element)"
    case .lease?: return "its DHCP server says that it is a phone's hotspot (ANDROID_METERED)"
    case nil: return nil
    }
  }

  private func foundation(of interface: Interface) -> String {
    let below = findings.snapshot.links(below: interface).map { "\($0.shownName) (\(mark(of: $0)))" }
    if !below.isEmpty { return "on \(below.joined(separator: ", "))" }
    // The interface carries traffic, so it has ports that run.
    return interface.needsPorts ? "whose ports lead only to containers or virtual machines" : "on a link elsewhere"
  }

  private func mark(of interface: Interface) -> String {
    switch interface.mediumMark {
    case .user: "by your options or rules"
    case .kind(let kind): "kind \(kind)"
    case .deviceType(let type): "DEVTYPE \(type)"
    case .hardwareType(let type): "hardware type \(type)"
    case .name: "by its name"
    case .radio(let mode): "nl80211: \(mode)"
    case .sysfsRadio: "sysfs: a radio"
    case .plainEthernet:
      "plain Ethernet"
        + (interface.device.isTether
          ? " on the USB of a phone or modem; nothing shows another kind" : "; nothing shows another kind")
    }
  }
}
