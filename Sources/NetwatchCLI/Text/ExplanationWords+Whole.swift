import Netwatch

/// The words that an explanation has once: the target, its name, the links beside the way, and the final sentence.
extension ExplanationWords {
  var target: String {
    switch findings.target {
    case .internet: "the internet"
    case .address, .host: "\(findings.target)"
    }
  }

  /// Returns the title of a section.
  func title(of destination: IPAddress) -> String {
    let family = destination.family.shownName
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
    }
    var text = "\(target) is reachable over \(name.text.harmless)"
    let covered = NetworkPath(verdict: verdict, reason: .initial, interfaces: []).partlyCovered
    if let vpn = verdict.vpn, !vpn.isCarrierKnown, vpn.interfaceIndex == verdict.interfaceIndex {
      text +=
        ", on an unknown link (\(vpn.kind.rawValue))" + (covered.map { ", with \($0) alone through the tunnel" } ?? "")
    } else {
      text += " (\(medium.rawValue))"
      if let vpn = verdict.vpn {
        let part = covered.map { ", with \($0) alone" } ?? ","
        text += "\(part) through the tunnel \(vpn.interfaceName.harmless) (\(vpn.kind.rawValue))"
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
    case .linkDown: return "\(subject) is " + (link == nil ? "gone" : "switched off")
    case .noAddress: return "\(subject) has no address that works"
    case .vpnWithoutUnderlay: return "the route leads into a tunnel, and nothing carries it"
    case .unresolved: return findings.resolution?.isDefinite == true ? "it has no address" : "its address is not known"
    default: return findings.failure.rawValue
    }
  }

  private struct FailedWay {
    var destination: IPAddress?
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
