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

  /// How the interface was switched off, in words that follow "is".
  package var offWords: String {
    switch radioBlock {
    case .soft: "switched off by rfkill"
    case .hard: "switched off by a switch of the machine (rfkill)"
    case nil: "switched off"
    }
  }

  /// Returns the likely cause of a fault; nil if it is not known.
  package func advice(on fault: ReachabilityReason) -> String? {
    switch fault {
    case .linkDown: nil
    case .noCarrier where radioBlock != nil, .dormant where radioBlock != nil: "its radio is \(offWords)"
    case _ where isLoopback: "it leads back to this machine"
    case .dormant where wifiEnding != nil, .noCarrier where wifiEnding != nil: wifiEnding?.description
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

extension Interface: CustomStringConvertible, CustomDebugStringConvertible {
  /// The link as a person would say it, such as `wired eth0, 10.0.0.2/24` or `wired eth1, no carrier`.
  public var description: String {
    let state: [String] =
      switch fault {
      case .linkDown: [offWords]
      case let fault?: ["\(fault)"]
      case nil: []
      }
    return (["\(medium) \(shownName)"] + state + addresses.map(\.description)).joined(separator: ", ")
  }

  /// The public properties of the link.
  public var debugDescription: String {
    """
    Interface(index: \(index), name: \(name.sanitizedForTerminal), kind: \(kind ?? "nil"), medium: \(medium), \
    isAdministrativelyUp: \(isAdministrativelyUp), hasCarrier: \(hasCarrier), operationalState: \(operationalState), \
    addresses: [\(addresses.map(\.description).joined(separator: ", "))], expense: \(expense?.rawValue ?? "nil"), \
    isConstrained: \(isConstrained))
    """
  }
}
