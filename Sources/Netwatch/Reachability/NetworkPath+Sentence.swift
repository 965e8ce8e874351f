extension NetworkPath {
  /// Returns a sentence for people that says whether this machine is online, over which interface, and if not, why, such as
  /// `Online over eth0, a wired interface.`
  ///
  /// - Parameter target: The target of the monitor that published the path. Default: the internet. The sentence names any other one.
  public func sentence(about target: NetworkTarget = .internet) -> String { answer(about: target, findings) }

  /// Returns a sentence that says whether this machine is online, over which interface, and if not, why.
  ///
  /// - Parameters:
  ///   - target: The target that the path leads to. Unless it is the internet, the sentence names it.
  ///   - findings: What else is known, such as the result of a probe.
  ///   - counts: Decides by name which interfaces count. Default: nil, all.
  package func answer(
    about target: NetworkTarget, _ findings: Findings, counts: ((_ name: String) -> Bool)? = nil
  ) -> String {
    var cause = cause(target, isSelective: counts != nil, after: findings.lost)
    // A path of a service has no links that could say so.
    if links.isEmpty, let ending = findings.wifiEnding { cause += "; \(ending)" }
    let (isThere, isNot) =
      target == .internet
      ? ("Online", "Offline")
      : ("\(target) is reachable".sanitizedForTerminal, "\(target) is not reachable".sanitizedForTerminal)
    switch status {
    case .unknown:
      return
        "Whether \(target == .internet ? "this machine is online" : "\(target) is reachable") is not known: \(cause)."
    case .notReachable:
      let local = isLocalOnly ? " Only the local network is within reach." : ""
      return "\(isNot): \(cause).\(local)\(otherFaults(counts))\(findings.lost?.formerWay(unlessNamedIn: cause) ?? "")"
    case .wifi, .wwan: break
    }
    let cost =
      (isExpensive ? " It may cost money." : "") + (isConstrained ? " It is to be used sparingly." : "")
    switch findings.internet {
    case .portal:
      return "Connected \(wayWords), but a login page (captive portal) answers instead of the internet.\(cost)"
    case .absent: return "Connected \(wayWords), but the internet does not answer.\(cost)"
    case .full, .unknown, nil: break
    }
    if let stages = findings.stages, let stage = stages.failing {
      return "Connected \(wayWords), but \(stages.faultSentence(of: stage)).\(cost)"
    }
    let former = findings.lost.map { ", and no longer over \($0.words)" } ?? ""
    return "\(isThere) \(wayWords)\(former).\(cost)"
  }

  private func cause(_ target: NetworkTarget, isSelective: Bool, after lost: LostInterface?) -> String {
    switch reason {
    case .noRoute where isSelective:
      let place = target == .internet ? "out" : "there"
      return "no route leads \(place) over the interfaces that your options and rules choose"
    case .vpnWithoutUnderlay:
      let tunnels = links.filter { $0.fault == nil && $0.role.tunnelKind != nil }
      return "the route leads into "
        + (tunnels.count == 1 ? "the VPN \(tunnels[0].shownName)" : "a tunnel") + ", and nothing carries it"
    case .noRoute: return target == .internet ? "there is no default route" : "no route leads there"
    case .unresolved where target == .internet: return "netlink cannot be read"
    default: break
    }
    return sentence(after: lost?.name) ?? reason.rawValue.words
  }
}

extension NetworkPath.LostInterface {
  /// The name of the interface, and that of its network.
  fileprivate var words: String {
    name.sanitizedForTerminal + (ssid.map { ", in the WiFi network \($0.quoted)" } ?? "")
  }

  /// A further sentence that says that the interface was lost; empty if another sentence already says so.
  fileprivate func formerWay(unlessNamedIn cause: String) -> String {
    ssid != nil || !cause.contains(name.sanitizedForTerminal) ? " The traffic went over \(words)." : ""
  }
}

extension NetworkStages {
  fileprivate func faultSentence(of stage: NetworkStage) -> String {
    let finding = self[stage]
    return switch (stage, finding.evidence, finding.address) {
    case (.gateway, .neighbourFailed, let address?): "the gateway \(address) does not answer"
    case (.dns, .noAnswer, let address?): "the name server \(address) does not answer"
    default: "the stage \(stage.words) fails: \(words(of: stage))"
    }
  }
}

extension NetworkPath {
  /// The way that the traffic takes, such as `over eth0, a wired interface`.
  fileprivate var wayWords: String {
    let families = ipv4 == nil && ipv6 != nil ? ", with IPv6 only" : ""
    guard let vpn else { return "over \(carrierWords)\(families)" }
    let tunnel = "through the VPN \(vpn.interfaceName.sanitizedForTerminal)"
    let isKnown = vpn.isCarrierKnown
    let doubt = isKnown ? "" : "; which interface carries it is not known"
    switch partlyCovered {
    case let covered? where vpn.interfaceName == interfaceName: return "\(tunnel) with \(covered) alone\(doubt)"
    case let covered?:
      return "over \(carrierWords); only \(covered) goes \(tunnel)" + (isKnown ? "" : ", on an unknown interface")
    case nil where isKnown: return "\(tunnel), over \(carrierWords)\(families)"
    case nil: return "\(tunnel)\(families)\(doubt)"
    }
  }

  private var carrierWords: String {
    let name = (interfaceName ?? "an interface").sanitizedForTerminal
    switch medium {
    case .wifi:
      return wifi.map { "\(name), in the WiFi network \($0.ssid.quoted)" }
        ?? "\(name), a WiFi interface"
    case .wired: return "\(name), a wired interface"
    case .wwan: return "\(name), a cellular modem"
    case .bluetooth: return "\(name), a Bluetooth interface"
    case .virtual: return "\(name), a virtual interface"
    case .other, nil: return name
    }
  }

  /// A further sentence about an offline machine, which names faults of interfaces or a VPN that nothing carries; empty if
  /// there are none.
  fileprivate func otherFaults(_ counts: ((_ name: String) -> Bool)?) -> String {
    if reason == .vpnWithoutUnderlay { return "" }
    if reason != .noRoute, let tunnel = links.first(where: { $0.fault == nil && $0.role.tunnelKind != nil }) {
      return " The VPN \(tunnel.shownName) is up, but nothing carries it."
    }
    guard [.noRoute, .noCarrier, .dormant, .linkDown].contains(reason) else { return "" }
    // The fault of another interface with hardware may be the cause too.
    let suspects = links.lazy.filter {
      !$0.isLoopback && $0.medium != .virtual && $0.role != .sink && $0.role.tunnelKind == nil && $0.fault != reason
        && counts?($0.name) ?? true
    }
    let faults = Array(
      suspects.compactMap { interface in faultWords(of: interface).map { "\(interface.shownName) \($0)" } }.prefix(3))
    return faults.isEmpty ? "" : " " + faults.joined(separator: "; ") + "."
  }

  /// Returns what keeps an interface from working, as words that follow its name. Nil if it could work.
  fileprivate func faultWords(of interface: Interface) -> String? {
    switch interface.fault {
    case .linkDown: "is \(interface.offWords)"
    case .noCarrier where interface.radioBlock == nil && interface.medium == .wifi:
      "has not joined a network" + (interface.wifiEnding.map { " (\($0))" } ?? "")
    case .noCarrier: "has no carrier" + (interface.advice(on: .noCarrier).map { " (\($0))" } ?? "")
    case .dormant: "waits for something, such as an authentication"
    case nil where !links.isUsable(interface): "has no port that runs"
    case nil where status(of: interface) == .notReachable: "has no address"
    default: nil
    }
  }
}

extension NetworkPath {
  /// Returns a sentence that says why the path was published, for `-v`. Nil if the words of the reason already say everything.
  ///
  /// - Parameter formerName: The name of the link that carried the traffic before; nil if none did.
  package func sentence(after formerName: String?) -> String? {
    switch reason {
    case .initial, .linkDown, .noCarrier, .dormant, .noAddress: return sentence(ofLinkAfter: formerName)
    case .routeUp: return "a route leads out again, over \(name)"
    case .noRoute:
      return "no route leads out"
        + (formerName.map { " any more; the last one was over \($0.sanitizedForTerminal)" } ?? "")
    case .routeUnreachable: return "a route or a rule forbids it: unreachable, prohibit or blackhole"
    case .mediumChanged where vpn?.isCarrierKnown == false,
      .interfaceChanged where vpn?.isCarrierKnown == false:
      return "netwatch no longer knows which link carries the tunnel \(tunnel)"
    case .mediumChanged: return "\(name) carries the traffic now, over \(medium?.rawValue ?? "nothing")"
    case .interfaceChanged:
      let former = formerName.flatMap { $0 == interfaceName ? nil : ", and no longer \($0.sanitizedForTerminal)" }
      return "\(name) carries the traffic now" + (former ?? "")
    case .addressChanged:
      return "the address, the gateway or the cost of \(name) has changed, or IPv4 or IPv6 has come or gone"
    case .networkChanged: return "\(name) has joined another WiFi network, or the cost of the network has changed"
    case .vpnUp where vpn?.isCarrierKnown == false:
      return
        "\(partlyCovered ?? "the traffic") goes over the tunnel \(tunnel) now; netwatch does not know which link carries that tunnel"
    case .vpnDown where vpn?.isCarrierKnown == false:
      let traffic = partlyCovered.map { "only \($0)" } ?? "the traffic still"
      return "\(traffic) goes over the tunnel \(tunnel) now; netwatch does not know which link carries that tunnel"
    case .vpnUp where partlyCovered != nil, .vpnDown where partlyCovered != nil:
      return "only \(partlyCovered ?? "?") goes through the tunnel \(tunnel) now, over \(name)"
    case .vpnUp: return "the traffic goes through the tunnel \(tunnel) now, over \(name)"
    case .vpnDown:
      guard vpn == nil else { return "the traffic still goes through the tunnel \(tunnel), over \(name)" }
      return "the traffic goes through no tunnel any more, straight over \(name)"
    case .vpnWithoutUnderlay: return "the route leads into a tunnel, and nothing carries it"
    case .resynced: return "found when everything was read again, because messages of the kernel were lost"
    case .resumed: return "found when everything was read again after a suspend"
    case .rulesChanged where !isReachable: return "the rules in the files of rules have changed, and leave no way out"
    case .rulesChanged: return "found when the rules in the files of rules had changed"
    case .unresolved where status == .notReachable: return "the name has no address"
    case .unresolved: return "no name server has answered, or netlink cannot be read"
    case .serviceLost: return "the service is gone"
    case .namespaceEnded: return "the network namespace is gone"
    // The line already says what the probe has found, and how strong the signal is.
    case .internetChanged, .signalChanged: return nil
    case .uplinkChanged: return "an interface that could carry the traffic works in another way"
    case .cableChanged: return "the cable of \(name) works in another way"
    case .announcementChanged: return "the network says something else about itself"
    case .sessionEnds: return "the network soon asks for another login"
    case .roamed: return "\(name) has joined another access point of the same WiFi network"
    }
  }

  private var name: String { (interfaceName ?? "a link").sanitizedForTerminal }
  /// The only family that goes through a tunnel, if the other one goes without. Nil if the tunnel takes all traffic.
  package var partlyCovered: String? {
    guard let vpn, let family = vpn.families.first, vpn.families.count == 1, supportsIPv4, supportsIPv6 else {
      return nil
    }
    return "\(family)"
  }

  private var tunnel: String { vpn.map { $0.interfaceName.sanitizedForTerminal } ?? "?" }

  private func sentence(ofLinkAfter formerName: String?) -> String? {
    let suspects = links.filter { $0.name == formerName ?? $0.name && $0.fault == reason && !$0.isLoopback }
    if formerName == nil, suspects.count > 1 {
      let all = suspects.prefix(3).map(\.shownName)
      let names = all.dropLast().joined(separator: ", ") + " and " + (all.last ?? "")
      switch reason {
      case .linkDown: return "\(names) are switched off"
      case .noCarrier: return "\(names) have no carrier"
      case .dormant: return "\(names) are dormant; they wait for something"
      default: break
      }
    }
    let link = suspects.count == 1 ? suspects.first : nil
    let former = (formerName ?? link?.name).map(\.sanitizedForTerminal) ?? "the link of the route"
    let advice = link.flatMap { $0.advice(on: reason) }.map { "; " + $0 } ?? ""
    switch reason {
    case .linkDown: return "\(former) is \(link?.offWords ?? "gone")"
    case .noCarrier: return "\(former) has no carrier" + advice
    case .dormant: return "\(former) is dormant" + (advice.isEmpty ? "; it waits for something" : advice)
    case .noAddress: return "\(former) has no address that traffic can come from"
    default: return nil
    }
  }
}
