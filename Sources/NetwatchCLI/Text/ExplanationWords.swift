import Netwatch

/// Describes the steps of an evaluation in English, and adds their facts.
struct ExplanationWords {
  let findings: PathFindings

  init(_ findings: PathFindings) { self.findings = findings }

  /// Returns the words for a step of an evaluation.
  ///
  /// - Parameter destination: The address that the step is about.
  func steps(for step: EvaluationTrail.Step, to destination: IPAddress) -> [Explanation.Step] {
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
          topic: .link, text: "\(name(index)) does not count, because of your options; netwatch tries the links that do"
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

  private func passedOver(_ address: IPAddress, _ answer: RouteAnswer, to other: IPAddress) -> Explanation.Step {
    let reason =
      switch answer {
      case .hop, .hops: "is reached directly on a link, without a gateway"
      case .refused, .own: "is refused by a route or a rule"
      case .noRoute, .rules, .hostRoutes: "has no route"
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
    case .noRoute, .own, .rules, .hostRoutes: return []
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
    let family = query.family.shownName
    if query.mark != 0 { return ", for \(family) packets with the mark \(hex(query.mark))" }
    guard Destinations.internet.all.contains(query.destination) else {
      let isRemote = findings.snapshot.interfaces.contains { $0.remote == query.destination }
      return isRemote ? ", to the tunnel's other end" : ", to \(query.destination)"
    }
    return query.link == 0 ? ", for \(family) packets" : ", the best \(family) route without a tunnel"
  }

  // MARK: Words

  func isOwn(_ address: IPAddress) -> Bool { address.isOfThisMachine || findings.snapshot.knows(address) }

  func name(_ index: Int32) -> String { rawName(index).harmless }

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
    case .noRoute, .refused, .own, .rules, .hostRoutes: nil
    }
  }
}
