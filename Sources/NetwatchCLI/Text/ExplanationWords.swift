import Netwatch
import NetwatchStream

/// Describes the steps of an evaluation in English, and adds their facts.
struct ExplanationWords {
  let findings: PathExplanation
  /// Returns what the driver of a wired link says about its cable.
  private let cable: (Interface) -> CableState?

  init(_ findings: PathExplanation, cable: @escaping (Interface) -> CableState? = { _ in nil }) {
    self.findings = findings
    self.cable = cable
  }

  /// Returns the words for a step of an evaluation.
  ///
  /// - Parameter destination: The address that the step is about.
  func steps(for step: EvaluationTrace.Step, to destination: InternetAddress) -> [Explanation.Step] {
    switch step {
    case .destination, .outcome: []
    case .answer(let query, .own) where query.destination == destination:
      [.init(topic: .route, text: "the address is this machine's own", isFault: true, facts: [("table", .null)])]
    case .answer(let query, let answer):
      rules(query, answer) + [route(answer, for: packetsFromHere(query))]
    case .answerBeneath(let query, let answer): rules(query, answer) + [route(answer, for: packets(query))]
    case .excluded(let index):
      [
        .init(
          topic: .link,
          text: "\(name(index)) does not count, because of your options or rules; netwatch tries the links that do"
        )
      ]
    case .noneInstead:
      [.init(topic: .route, text: "no other link has one", isFault: true, facts: [("table", .null)])]
    case .link(let index, let fault): [link(index, fault)]
    case .source(let address, let isUsable, let link):
      [isUsable ? source(address) : noSource(address, destination.family, over: link)]
    case .tunnel(let index, let kind, let evidence): [tunnel(index, kind, evidence)]
    case .candidates(let links): [candidates(links)]
    case .passedOver(let address, let answer): [passedOver(address, answer, to: destination)]
    }
  }

  private func passedOver(_ address: InternetAddress, _ answer: RouteAnswer, to other: InternetAddress)
    -> Explanation.Step
  {
    let reason =
      switch answer {
      case .hop, .hops: "is reached directly on a link, without a gateway"
      case .refused, .own: "is refused by a route or a rule"
      case .noRoute, .rules, .hostRoutes, .neighbours: "has no route"
      }
    return .init(
      topic: .route, text: "the documentation address \(address) \(reason), so \(other), a DNS root server, stands in",
      facts: [("table", .null)])
  }

  // MARK: Rules

  private func rules(_ query: RouteQuery, _ answer: RouteAnswer) -> [Explanation.Step] {
    // Even if the question names a link, the rules choose the table.
    switch answer {
    case .hop, .hops:
      // The rule that has found the first hop of a route also finds the others.
      guard query.kind != .route, let table = answer.hop?.table else { return [] }
      return findings.rule(leadingTo: table, query).map { [step($0)] } ?? []
    case .refused: return findings.rules(forbidding: query).map { step($0) }
    case .noRoute, .own, .rules, .hostRoutes, .neighbours: return []
    }
  }

  private func step(_ rule: RoutingRule) -> Explanation.Step {
    .init(
      topic: .rule, text: text(rule),
      facts: [
        ("priority", .integer(Int64(rule.priority))), ("table", rule.table.map { .integer(Int64($0)) } ?? .null),
        ("mark", rule.mark == 0 ? .null : .integer(Int64(rule.mark))),
      ])
  }

  private func text(_ rule: RoutingRule) -> String {
    var text = "\(rule.priority): " + (rule.isInverted ? "not " : "") + "from \(rule.source.map(network) ?? "all")"
    if rule.mark != 0 { text += " fwmark \(hex(rule.mark))" }
    if rule.mark != 0, rule.markMask != .max { text += "/\(hex(rule.markMask))" }
    if let users = rule.users { text += " uidrange \(users.lowerBound)-\(users.upperBound)" }
    switch rule.action {
    case RoutingRule.blackhole: text += " blackhole"
    case RoutingRule.unreachable: text += " unreachable"
    case RoutingRule.prohibit: text += " prohibit"
    default: text += rule.table.map { " lookup \(self.table($0))" } ?? ""
    }
    return text + (rule.hasOtherSelectors ? ", on more conditions" : "")
  }

  private func network(_ source: RoutingRule.Source) -> String {
    let isSingle = source.prefixLength == (source.address.family == .ipv4 ? 32 : 128)
    return "\(source.address)" + (isSingle ? "" : "/\(source.prefixLength)")
  }

  // MARK: Routes

  /// Returns which packets of this machine's programs a question is about, if not about all.
  private func packetsFromHere(_ query: RouteQuery) -> String {
    if query.kind == .route { return ", another of its hops" }
    return query.source.map { ", for packets from \($0)" } ?? ""
  }

  private func route(_ answer: RouteAnswer, for packets: String) -> Explanation.Step {
    guard let hop = answer.hop else {
      let isForbidden = answer == .refused
      let text = isForbidden ? "a route or a rule forbids it (unreachable, prohibit or blackhole)" : "there is none"
      return .init(topic: .route, text: text + packets, isFault: true, facts: [("table", .null)])
    }
    let gateway = hop.gateway.map { "via \($0) " } ?? ""
    let metric = hop.metric == 0 ? "" : " metric \(hop.metric)"
    return .init(
      topic: .route,
      text: "table \(table(hop.table)): \(gateway)dev \(name(hop.interfaceIndex))\(metric)" + packets,
      facts: [
        ("table", .integer(Int64(hop.table))), ("gateway", hop.gateway.map { .string("\($0)") } ?? .null),
        ("interface", .string(rawName(hop.interfaceIndex))), ("metric", .integer(Int64(hop.metric))),
      ])
  }

  /// Returns which packets of a tunnel a question is about.
  private func packets(_ query: RouteQuery) -> String {
    let family = query.family
    if query.mark != 0 { return ", for \(family) packets with the mark \(hex(query.mark))" }
    guard Destinations.internet.all.contains(query.destination) else {
      let isRemote = findings.snapshot.interfaces.contains { $0.remote == query.destination }
      return isRemote ? ", to the tunnel's other end" : ", to \(query.destination)"
    }
    return query.link == 0 ? ", for \(family) packets" : ", the best \(family) route without a tunnel"
  }

  // MARK: Words

  func isOwn(_ address: InternetAddress) -> Bool { address.isOfThisMachine || findings.snapshot.knows(address) }

  func name(_ index: Int32) -> String { rawName(index).sanitizedForTerminal }

  func rawName(_ index: Int32) -> String { findings.snapshot.interface(index)?.name ?? "number \(index)" }

  private func table(_ table: UInt32) -> String {
    switch table {
    case RoutingRule.mainTable: "main"
    case RoutingRule.localTable: "local"
    case RoutingRule.defaultTable: "default"
    default: "\(table)"
    }
  }

  func hex(_ mark: UInt32) -> String { "0x" + String(mark, radix: 16) }
}

extension RouteAnswer {
  /// The hop that was chosen; nil if there is none.
  fileprivate var hop: RouteHop? {
    switch self {
    case .hop(let hop): hop
    case .hops(let hops): hops.first
    case .noRoute, .refused, .own, .rules, .hostRoutes, .neighbours: nil
    }
  }
}

/// The words about the links of a way: their state, their addresses, the links beneath a tunnel, and the carrier of the
/// traffic.
extension ExplanationWords {
  // MARK: Links

  func link(_ index: Int32, _ fault: ReachabilityReason?) -> Explanation.Step {
    guard let interface = findings.snapshot.interface(index) else {
      return .init(topic: .link, text: "number \(index) is not there any more", isFault: true)
    }
    var state = [interface.offWords]
    if interface.isAdministrativelyUp {
      state = ["switched on", interface.hasCarrier ? "carrier" : "no carrier"]
      // The other states say no more than the carrier does.
      if [.dormant, .testing, .notPresent].contains(interface.operationalState) {
        state.append("\(interface.operationalState.name)".words)
      }
    }
    let cable = interface.medium == .wired ? cable(interface) : nil
    if let words = cable?.words { state.append(words) }
    // The driver knows better.
    let advice = cable?.absence == nil ? fault.flatMap { interface.advice(on: $0) }.map { "; " + $0 } ?? "" : ""
    return .init(
      topic: .link, text: "\(interface.shownName): " + state.joined(separator: ", ") + advice, isFault: fault != nil,
      facts: [
        ("interface", .string(interface.name)), ("up", .bool(interface.isAdministrativelyUp)),
        ("carrier", .bool(interface.hasCarrier)),
        ("operational_state", .string("\(interface.operationalState.name)")),
      ] + (interface.radioBlock.map { [("rfkill", .string($0.rawValue))] } ?? [])
        + (cable.map { [("link", $0.json)] } ?? []))
  }

  // MARK: Sources

  func source(_ address: InternetAddress?) -> Explanation.Step {
    guard let address else { return .init(topic: .source, text: "any") }
    let owner = findings.snapshot.interfaces.first { $0.addresses.contains { $0.address == address } }
    // If a tun device translates, its own step says so.
    let isTranslated =
      findings.verdict.isIPv4Translated && address == findings.verdict.ipv4?.address && owner?.role.tunnelKind == nil
    return .init(
      topic: .source,
      text: "\(address)" + (owner.map { " of \($0.shownName)" } ?? "")
        + (isTranslated ? ", which is of 192.0.0.0/29: this machine translates its IPv4 to IPv6 (464XLAT)" : ""),
      facts: [("address", .string("\(address)"))])
  }

  /// Returns the step for a missing source address. The kernel may name a useless address, such as ::1, so the step lists the
  /// addresses of the link, which the user can correct.
  private func noSource(_ named: InternetAddress?, _ family: AddressFamily, over index: Int32) -> Explanation.Step {
    let addresses = findings.snapshot.interface(index)?.addresses.filter { $0.address.family == family } ?? []
    var flaws = addresses.map { "\($0.address)\(flaw($0))" }
    if let named, !isOwn(named) { flaws.append("\(named), which the route asks for, is on no link") }
    let text =
      flaws.isEmpty
      ? "\(name(index)) has no \(family) address"
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
    _ index: Int32, _ kind: TunnelKind, _ evidence: EvaluationTrace.Evidence
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
    case .upper, .master: text += ", a \(interface.kind ?? "stack") " + foundation(of: interface)
    }
    let radio = findings.snapshot.radio(below: index)
    if let ssid = radio?.wireless?.ssid { text += " in \(ssid.quoted)" }
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

/// The words that an explanation has once: the target, its name, the links beside the way, and the final sentence.
extension ExplanationWords {
  var target: String {
    switch findings.target {
    case .internet: "the internet"
    case .address, .host: "\(findings.target)"
    }
  }

  /// Returns the title of a section.
  func title(of destination: InternetAddress) -> String {
    let family = destination.family
    if case .internet = findings.target { return "\(family) to the internet (\(destination))" }
    return "\(family) to \(destination)" + (findings.target.port.map { ", TCP port \($0)" } ?? "")
  }

  /// The step with the addresses of the target's name; nil if the target is not a host name.
  var resolution: Explanation.Step? {
    guard let resolution = findings.resolution, case .host(let host, _) = findings.target else { return nil }
    let addresses = resolution.addresses.map(\.description)
    let text =
      addresses.isEmpty
      ? resolution.problem ?? "no name server has answered for \(host) yet"
      : "\(host) is \(addresses.joined(separator: ", "))"
    return .init(
      topic: .name, text: text, isFault: addresses.isEmpty,
      facts: [("name", .string(host.text)), ("addresses", .array(addresses.map { .string($0) }))])
  }

  /// The steps of the links that could have had a way, if no way was found.
  var deadLinks: [Explanation.Step] {
    guard !findings.verdict.isReachable else { return [] }
    switch findings.failure {
    case .noRoute, .vpnWithoutUnderlay: break
    case .noCarrier, .dormant, .linkDown: guard failedWay.link == nil else { return [] }
    case .unresolved where findings.resolution?.isDefinite != true: break
    default: return []
    }
    return findings.deadLinks.map { index, fault in
      var step = link(index, fault)
      step.isFault = false
      return step
    }
  }

  // MARK: The sentence

  var summary: String {
    let verdict = findings.verdict
    guard verdict.isReachable, let name = verdict.interfaceName, let medium = verdict.medium else {
      if verdict.status == .unknown { return "Whether \(target) is reachable is not known: \(cause)." }
      return "\(target) is not reachable: \(cause)."
        + (verdict.isLocalOnly ? " Only the local network is within reach." : "")
    }
    var text = "\(target) is reachable over \(name.text.sanitizedForTerminal)"
    let covered = NetworkPath(verdict: verdict, reason: .initial, interfaces: []).partlyCovered
    if let vpn = verdict.vpn, !vpn.isCarrierKnown, vpn.interfaceIndex == verdict.interfaceIndex {
      text +=
        ", on an unknown link (\(vpn.kind.rawValue))" + (covered.map { ", with \($0) alone through the tunnel" } ?? "")
    } else {
      text += " (\(medium.rawValue))"
      if let vpn = verdict.vpn {
        let part = covered.map { ", with \($0) alone" } ?? ","
        text += "\(part) through the tunnel \(vpn.interfaceName.sanitizedForTerminal) (\(vpn.kind.rawValue))"
        if !vpn.isCarrierKnown { text += " on an unknown link" }
      }
    }
    switch (verdict.ipv4, verdict.ipv6) {
    case (_?, _?): text += ", by IPv4 and IPv6"
    case (_?, nil): text += ", by IPv4"
    default: text += ", by IPv6"
    }
    return text + (verdict.cost.expense == nil ? "." : "; it may cost money.")
  }

  private var cause: String {
    let failure = failedWay
    // Without a way, the fault is that of the best link.
    let suspect = failure.link ?? findings.bestDeadLink
    let link = suspect.flatMap { findings.snapshot.interface($0) }
    let subject = (link?.shownName ?? "the link of the route") + failure.tunnel
    switch findings.failure {
    case .noRoute: return "no route leads there" + (failure.isFiltered ? " over a link that counts" : "")
    case .routeUnreachable where failure.destination.map(isOwn) == true: return "it is this machine itself"
    case .routeUnreachable where link?.role == .sink: return "\(subject) leads nowhere"
    case .routeUnreachable: return "a route or a rule forbids it"
    case .noCarrier where link?.isLoopback == true: return "the route leads back to this machine"
    case .noCarrier where link?.needsPorts == true: return "none of the ports of \(subject) runs"
    case .noCarrier: return "\(subject) has no carrier"
    case .dormant: return "\(subject) waits for something, such as an authentication"
    case .linkDown: return "\(subject) is \(link?.offWords ?? "gone")"
    case .noAddress: return "\(subject) has no address that works"
    case .vpnWithoutUnderlay: return "the route leads into a tunnel, and nothing carries it"
    case .unresolved: return findings.resolution?.isDefinite == true ? "it has no address" : "its address is not known"
    default: return findings.failure.rawValue
    }
  }

  private struct FailedWay {
    var destination: InternetAddress?
    /// The index of the link that fails; nil if there is none.
    var link: Int32?
    /// The words for the tunnel that the link should carry; empty if there is no tunnel.
    var tunnel = ""
    /// Whether links were skipped because they do not count.
    var isFiltered = false
  }

  /// The way whose failure is the reason of the verdict.
  private var failedWay: FailedWay {
    var way = FailedWay()
    for step in findings.steps {
      switch step {
      case .destination(let address): way = FailedWay(destination: address)
      case .link(let index, fault: findings.failure?) where way.link == nil: way.link = index
      case .source(_, isUsable: false, let index) where findings.failure == .noAddress && way.link == nil:
        way.link = index
      case .tunnel(let index, _, _) where way.link == nil: way.tunnel = ", beneath the tunnel \(name(index)),"
      case .excluded: way.isFiltered = true
      case .outcome(failure: findings.failure?, _): return way
      default: break
      }
    }
    return FailedWay()
  }
}
