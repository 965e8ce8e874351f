import Netwatch

extension EventRecord {
  /// Returns a sentence that says whether this machine is online, over which interface, and if not, why.
  ///
  /// - Parameters:
  ///   - target: The target that the path of the record leads to. Unless it is the internet, the sentence names it.
  ///   - counts: Decides by name which interfaces count. Default: nil, all.
  package func answer(about target: NetworkTarget, counts: ((_ name: String) -> Bool)? = nil) -> String {
    let cause = cause(target, isSelective: counts != nil)
    let (isThere, isNot) =
      target == .internet
      ? ("Online", "Offline") : ("\(target) is reachable".harmless, "\(target) is not reachable".harmless)
    switch path.status {
    case .unknown:
      return
        "Whether \(target == .internet ? "this machine is online" : "\(target) is reachable") is not known: \(cause)."
    case .notReachable: return "\(isNot): \(cause).\(path.otherFaults(counts))\(formerWay(unlessNamedIn: cause))"
    case .wifi, .wwan: break
    }
    let cost =
      (path.isExpensive ? " It may cost money." : "") + (path.isConstrained ? " It is to be used sparingly." : "")
    switch internet {
    case .portal:
      return "Connected \(path.wayWords), but a login page (captive portal) answers instead of the internet.\(cost)"
    case .absent: return "Connected \(path.wayWords), but the internet does not answer.\(cost)"
    case .full, .unknown, nil: break
    }
    if let stages, let stage = stages.failing {
      return "Connected \(path.wayWords), but \(stages.faultSentence(of: stage)).\(cost)"
    }
    let former = lost.map { ", and no longer over \($0.words)" } ?? ""
    return "\(isThere) \(path.wayWords)\(former).\(cost)"
  }

  /// A further sentence about the interface that was lost; empty if there is nothing that another sentence does not say.
  private func formerWay(unlessNamedIn cause: String) -> String {
    guard let lost, lost.ssid != nil || !cause.contains(lost.name.harmless) else { return "" }
    return " The traffic went over \(lost.words)."
  }

  private func cause(_ target: NetworkTarget, isSelective: Bool) -> String {
    switch path.reason {
    case .noRoute where isSelective:
      return "no route leads \(target == .internet ? "out" : "there") over the interfaces that your options choose"
    case .vpnWithoutUnderlay:
      let tunnels = path.links.filter { $0.fault == nil && $0.role.tunnelKind != nil }
      return "the route leads into "
        + (tunnels.count == 1 ? "the VPN \(tunnels[0].shownName)" : "a tunnel") + ", and nothing carries it"
    case .noRoute: return target == .internet ? "there is no default route" : "no route leads there"
    case .unresolved where target == .internet: return "netlink cannot be read"
    default: break
    }
    return path.sentence(after: lost?.name) ?? path.reason.rawValue.words
  }
}

extension EventRecord.LostInterface {
  /// The name of the interface, and that of its network.
  fileprivate var words: String {
    name.harmless + (ssid.map { ", in the WiFi network “\($0.text.harmless)”" } ?? "")
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
    let tunnel = "through the VPN \(vpn.interfaceName.harmless)"
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
    let name = (interfaceName ?? "an interface").harmless
    switch medium {
    case .wifi:
      return wifi.map { "\(name), in the WiFi network “\($0.ssid.text.harmless)”" } ?? "\(name), a WiFi interface"
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
    let suspects = links.filter {
      !$0.isLoopback && $0.medium != .virtual && $0.role != .sink && $0.role.tunnelKind == nil && $0.fault != reason
        && counts?($0.name) ?? true
    }
    let faults = suspects.compactMap { interface in
      faultWords(of: interface).map { "\(interface.shownName) \($0)" }
    }
    return faults.isEmpty ? "" : " " + faults.prefix(3).joined(separator: "; ") + "."
  }

  /// Returns what keeps an interface from working, as words that follow its name. Nil if it could work.
  fileprivate func faultWords(of interface: Interface) -> String? {
    switch interface.fault {
    case .linkDown: "is switched off"
    case .noCarrier where interface.medium == .wifi: "has not joined a network"
    case .noCarrier: "has no carrier" + (interface.advice(on: .noCarrier).map { " (\($0))" } ?? "")
    case .dormant: "waits for something, such as an authentication"
    case nil where !links.isUsable(interface): "has no port that runs"
    case nil where status(of: interface) == .notReachable: "has no address"
    default: nil
    }
  }
}
