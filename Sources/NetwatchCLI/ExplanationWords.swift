import Netwatch

/// Says the steps of an evaluation in English, with the facts beside them.
struct ExplanationWords {
  private let findings: PathFindings

  init(_ findings: PathFindings) { self.findings = findings }

  // MARK: Steps

  func steps(for step: EvaluationTrail.Step) -> [Explanation.Step] {
    switch step {
    case .destination, .outcome: []
    case .answer(let request, let answer): rule(request, answer) + [route(request, answer)]
    case .excluded(let index):
      [.init(topic: .link, text: "\(name(index)) does not count, as you said; the links that do are asked instead")]
    case .link(let index, let fault): [link(index, fault)]
    case .source(let address, let isUsable): [source(address, isUsable)]
    case .tunnel(let index, let kind, let carrier): [tunnel(index, kind, carrier)]
    }
  }

  private func rule(_ request: RouteRequest, _ answer: RouteAnswer) -> [Explanation.Step] {
    guard let hop = answer.hop else { return [] }
    // With a link or an end given, the rules still choose the table.
    var mark: UInt32 = 0
    if case .marked(let given) = request.scope { mark = given }
    guard let rule = findings.rule(leadingTo: hop.table, mark: mark, request.family) else { return [] }
    return [
      .init(
        topic: .rule, text: text(rule),
        facts: [
          ("priority", .number(UInt64(rule.priority))), ("table", .number(UInt64(hop.table))),
          ("mark", rule.mark == 0 ? .nothing : .number(UInt64(rule.mark))),
        ])
    ]
  }

  private func text(_ rule: RoutingRule) -> String {
    var text = "\(rule.priority): " + (rule.isInverted ? "not " : "") + "from all"
    if rule.mark != 0 { text += " fwmark \(hex(rule.mark))" }
    if rule.mark != 0, rule.markMask != .max { text += "/\(hex(rule.markMask))" }
    if let users = rule.users { text += " uidrange \(users.lowerBound)-\(users.upperBound)" }
    return text + (rule.table.map { " lookup \(self.table($0))" } ?? "")
  }

  private func route(_ request: RouteRequest, _ answer: RouteAnswer) -> Explanation.Step {
    guard let hop = answer.hop else {
      let text = answer == .noRoute ? "there is none" : "a route or a rule says no (unreachable, prohibit or blackhole)"
      return .init(topic: .route, text: text + packets(request), isFault: true, facts: [("table", .nothing)])
    }
    let gateway = hop.gateway.map { "via \($0) " } ?? ""
    let metric = hop.metric == 0 ? "" : " metric \(hop.metric)"
    return .init(
      topic: .route,
      text: "table \(table(hop.table)): \(gateway)dev \(name(hop.interfaceIndex))\(metric)" + packets(request),
      facts: [
        ("table", .number(UInt64(hop.table))), ("gateway", hop.gateway.map { .text("\($0)") } ?? .nothing),
        ("interface", .text(name(hop.interfaceIndex))), ("metric", .number(UInt64(hop.metric))),
      ])
  }

  /// Which packets a lookup was for, where it was not for ours.
  private func packets(_ request: RouteRequest) -> String {
    switch request.scope {
    case .marked(let mark): ", for \(family(request.family)) packets with the mark \(hex(mark))"
    case .remote: ", to the tunnel's other end"
    case .allHops: ", another of its hops"
    case .link where request.destination == RouteRequest.internet:
      ", the best \(family(request.family)) route by no tunnel"
    case .plain, .link, .rules: ""
    }
  }

  private func link(_ index: Int32, _ fault: ReachabilityReason?) -> Explanation.Step {
    guard let interface = findings.snapshot.interface(index) else {
      return .init(topic: .link, text: "number \(index) is not there any more", isFault: true)
    }
    let flags = [
      interface.isAdministrativelyUp ? "switched on" : "switched off", interface.hasCarrier ? "carrier" : "no carrier",
      "operational state \(interface.operationalState.name)",
    ]
    return .init(
      topic: .link, text: "\(interface.shownName): " + flags.joined(separator: ", ") + advice(fault, interface),
      isFault: fault != nil,
      facts: [
        ("interface", .text(interface.name)), ("up", .flag(interface.isAdministrativelyUp)),
        ("carrier", .flag(interface.hasCarrier)),
        ("operational_state", .text("\(interface.operationalState.name)")),
      ])
  }

  private func advice(_ fault: ReachabilityReason?, _ interface: Interface) -> String {
    switch fault {
    case .linkDown?: "; switch it on"
    case .dormant?: "; it waits for something, such as an authentication"
    case .noCarrier? where interface.needsPorts && interface.hasCarrier: "; but none of its ports runs"
    case .noCarrier?: "; the cable, the association or the other end is missing"
    default: ""
    }
  }

  private func source(_ address: IPAddress?, _ isUsable: Bool) -> Explanation.Step {
    guard let address else {
      return .init(topic: .source, text: "there is no address that packets could come from", isFault: true)
    }
    var owner: (interface: Interface, address: InterfaceAddress)?
    for interface in findings.snapshot.interfaces where owner == nil {
      owner = interface.addresses.first { $0.address == address }.map { (interface, $0) }
    }
    var marks: [String] = []
    if let flags = owner?.address.flags {
      if flags & InterfaceAddress.Flags.duplicate != 0 { marks.append("somebody else has it too") }
      if flags & InterfaceAddress.Flags.tentative != 0 { marks.append("not tested for duplicates yet") }
      if flags & InterfaceAddress.Flags.deprecated != 0 { marks.append("deprecated") }
    } else {
      marks.append("no link has it")
    }
    if address.isLinkLocal { marks.append("of the link alone") }
    if address.isLoopback { marks.append("of this machine alone") }
    let text = "\(address)" + (owner.map { " of \($0.interface.shownName)" } ?? "")
    return .init(
      topic: .source, text: ([text] + marks).joined(separator: ", "), isFault: !isUsable,
      facts: [("address", .text("\(address)"))])
  }

  private func tunnel(
    _ index: Int32, _ kind: TunnelKind, _ carrier: EvaluationTrail.Carrier
  ) -> Explanation.Step {
    let way =
      switch carrier {
      case .link(let lower): "stands on \(name(lower))"
      case .marks(let marks): "its own packets carry the mark \(marks.map(hex).joined(separator: " or "))"
      case .remote(let remote): "its other end is \(remote)"
      case .bestLink: "nothing says what carries it, so the best link that is no tunnel is taken"
      case .loop: "it leads back into itself"
      }
    return .init(
      topic: .tunnel, text: "\(name(index)) is a tunnel (\(kind.rawValue)); \(way)", isFault: carrier == .loop,
      facts: [("interface", .text(name(index))), ("kind", .text(kind.rawValue))])
  }

  // MARK: Media

  /// What carries the traffic, by which mark it is known, and what it stands on.
  func media(of index: Int32) -> [Explanation.Step] {
    guard let interface = findings.snapshot.interface(index) else { return [] }
    var text = "\(interface.shownName) is \(interface.medium.rawValue)"
    switch interface.role {
    case .base, .tunnel: text += " (\(mark(of: interface)))"
    case .stacked, .aggregate:
      let below = findings.snapshot.links(below: interface).map { "\($0.shownName) (\(mark(of: $0)))" }
      text +=
        ", a \(interface.kind ?? "stack") "
        + (below.isEmpty ? "on nothing here" : "on \(below.joined(separator: ", "))")
    }
    if let ssid = findings.snapshot.radio(below: index)?.wireless?.ssid { text += " in “\(clean(ssid.text))”" }
    return [
      .init(
        topic: .medium, text: text,
        facts: [("interface", .text(interface.name)), ("medium", .text(interface.medium.rawValue))])
    ]
  }

  private func mark(of interface: Interface) -> String {
    switch interface.mediumMark {
    case .user: "as you said"
    case .kind(let kind): "kind \(kind)"
    case .deviceType(let type): "DEVTYPE \(type)"
    case .hardwareType(let type): "hardware type \(type)"
    case .name: "by its name"
    case .radio(let mode): "nl80211: \(mode)"
    case .sysfsRadio: "sysfs: a radio"
    case .plainEthernet:
      "Ethernet without a mark of anything else" + (interface.device.isTether ? ", a phone's driver" : "")
    }
  }

  // MARK: The whole

  /// Where the name of a host leads.
  var resolution: Explanation.Step? {
    guard let resolution = findings.resolution else { return nil }
    let addresses = resolution.addresses.map(\.description).joined(separator: ", ")
    let problem = resolution.problem ?? (addresses.isEmpty ? "no name server has answered yet" : nil)
    let known = addresses.isEmpty ? "\(target) has no address" : "\(target) is \(addresses)"
    return .init(
      topic: .name, text: [known, problem].compactMap { $0 }.joined(separator: "; "),
      isFault: resolution.addresses.isEmpty, facts: [("name", .text(target)), ("addresses", .text(addresses))])
  }

  var target: String {
    switch findings.target {
    case .internet: "the internet"
    case .address(let address, _): "\(address)"
    case .host(let host, _): host.text
    }
  }

  var summary: String {
    let verdict = findings.verdict
    guard verdict.isReachable, let name = verdict.interfaceName, let medium = verdict.medium else {
      return "\(target) is not reachable: \(cause)."
    }
    var text = "\(target) is reachable over \(clean(name.text)) (\(medium.rawValue))"
    if let vpn = verdict.vpn { text += ", through the tunnel \(clean(vpn.interfaceName)) (\(vpn.kind.rawValue))" }
    switch (verdict.ipv4, verdict.ipv6) {
    case (_?, _?): text += ", by IPv4 and IPv6"
    case (_?, nil): text += ", by IPv4"
    default: text += ", by IPv6"
    }
    return text + (verdict.isExpensive ? "; it may cost money." : ".")
  }

  private var cause: String {
    switch findings.failure {
    case .noRoute: "no route leads there"
    case .routeUnreachable: "a route or a rule says no"
    case .noCarrier: "the link of the route has no carrier"
    case .dormant: "the link of the route waits for something"
    case .linkDown: "the link of the route is switched off or gone"
    case .noAddress: "the link of the route has no address that works"
    case .vpnWithoutUnderlay: "the route leads into a tunnel, and nothing carries it"
    case .unresolved: "its name has no address"
    default: findings.failure.rawValue
    }
  }

  // MARK: Words

  private func name(_ index: Int32) -> String {
    findings.snapshot.interface(index).map(\.shownName) ?? "number \(index)"
  }

  private func table(_ table: UInt32) -> String {
    switch table {
    case RoutingRule.mainTable: "main"
    case RoutingRule.localTable: "local"
    case RoutingRule.defaultTable: "default"
    default: "\(table)"
    }
  }

  private func family(_ family: AddressFamily) -> String { family == .ipv4 ? "IPv4" : "IPv6" }
  private func hex(_ mark: UInt32) -> String { "0x" + String(mark, radix: 16) }
}

extension RouteAnswer {
  /// The one that was chosen.
  fileprivate var hop: RouteHop? {
    switch self {
    case .hop(let hop): hop
    case .hops(let hops): hops.first
    case .noRoute, .refused, .rules: nil
    }
  }
}

extension Interface {
  fileprivate var shownName: String { clean(name) }
}
