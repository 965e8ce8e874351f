import Netwatch

extension InternetAccess {
  /// The result of a probe in words for people.
  package var words: StaticString {
    switch self {
    case .full: "internet: full"
    case .portal: "behind a login page (captive portal)"
    case .absent: "no internet"
    case .unknown: "internet: unknown"
    }
  }

  /// Whether there is a fault that people have to know, although there is a route.
  package var isFault: Bool {
    switch self {
    case .portal, .absent: true
    case .full, .unknown: false
    }
  }
}

extension AddressFamily {
  /// The name of the family for people.
  package var shownName: String { self == .ipv4 ? "IPv4" : "IPv6" }
}

extension Interface {
  /// The name of the interface, without characters that could control the terminal.
  package var shownName: String { name.sanitizedForTerminal }

  /// Whether a module of the kernel has made the interface when it was loaded, and nobody uses it: the ends of redirected traffic
  /// (ifb), and the interfaces for packets that belong to no tunnel, such as tunl0, sit0 and gre0.
  package var isMadeByKernel: Bool {
    guard let kind else { return false }
    let fallbacks = ["dummy", "erspan", "gre", "gretap", "ip6gre", "ip6tnl", "ipip", "sit", "vti", "vti6"]
    return addresses.allSatisfy(\.address.isLinkLocal)
      && (kind == "ifb" || fallbacks.contains(kind) && !isAdministrativelyUp)
  }

  /// The reason why the interface can carry nothing, by its own state; nil if it can.
  package var fault: ReachabilityReason? {
    guard isAdministrativelyUp else { return .linkDown }
    guard hasCarrier else { return .noCarrier }
    switch operationalState {
    case .up, .unknown: return nil
    case .dormant: return .dormant
    case .notPresent, .down, .lowerLayerDown, .testing: return .noCarrier
    }
  }

  /// Returns the likely cause of a fault; nil if it is not known.
  package func advice(on fault: ReachabilityReason) -> String? {
    switch fault {
    case .linkDown: nil
    case _ where isLoopback: "it leads back to this machine"
    case .dormant: "it waits for something, such as an authentication"
    case .noCarrier where needsPorts: "none of its ports runs"
    case .noCarrier where role == .upper: "the interface that it stands on does not run"
    case .noCarrier where medium == .wifi: "it has not joined a network"
    case .noCarrier where medium == .wired: "the cable or its other end is missing"
    case .noCarrier: "its other end is missing"
    case .routeUnreachable where role == .sink:
      "it leads nowhere: a link of the kind \(kind ?? "sink") drops what is sent"
    default: nil
    }
  }
}
