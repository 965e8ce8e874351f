import Netwatch

extension NetworkPath {
  /// Returns a sentence that says why the path was published, for `-v`. Nil if the words of the reason already say everything.
  ///
  /// - Parameter formerName: The name of the link that carried the traffic before; nil if none did.
  package func sentence(after formerName: String?) -> String? {
    switch reason {
    case .initial, .linkDown, .noCarrier, .dormant, .noAddress: return sentence(ofLinkAfter: formerName)
    case .routeUp: return "a route leads out again, over \(name)"
    case .noRoute:
      return "no route leads out" + (formerName.map { " any more; the last one was over \($0.harmless)" } ?? "")
    case .routeUnreachable: return "a route or a rule forbids it: unreachable, prohibit or blackhole"
    case .mediumChanged where vpn?.isCarrierKnown == false,
      .interfaceChanged where vpn?.isCarrierKnown == false:
      return "netwatch no longer knows which link carries the tunnel \(tunnel)"
    case .mediumChanged: return "\(name) carries the traffic now, over \(medium?.rawValue ?? "nothing")"
    case .interfaceChanged:
      let former = formerName.flatMap { $0 == interfaceName ? nil : ", and no longer \($0.harmless)" }
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
    // The line already says what the probe has found, and how strong the signal is.
    case .internetChanged, .signalChanged: return nil
    case .roamed: return "\(name) has joined another access point of the same WiFi network"
    }
  }

  private var name: String { (interfaceName ?? "a link").harmless }
  /// The only family that goes through a tunnel, if the other one goes without. Nil if the tunnel takes all traffic.
  package var partlyCovered: String? {
    guard let vpn, let family = vpn.families.first, vpn.families.count == 1, supportsIPv4, supportsIPv6 else {
      return nil
    }
    return family.shownName
  }

  private var tunnel: String { vpn.map { $0.interfaceName.harmless } ?? "?" }

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
    let former = (formerName ?? link?.name).map(\.harmless) ?? "the link of the route"
    let advice = link.flatMap { $0.advice(on: reason) }.map { "; " + $0 } ?? ""
    switch reason {
    case .linkDown: return "\(former) is " + (link == nil ? "gone" : "switched off")
    case .noCarrier: return "\(former) has no carrier" + advice
    case .dormant: return "\(former) is dormant" + (advice.isEmpty ? "; it waits for something" : advice)
    case .noAddress: return "\(former) has no address that traffic can come from"
    default: return nil
    }
  }
}
