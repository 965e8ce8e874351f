/// What a person says about links and networks, in statements of which a later one counts more than an earlier one.
package struct NetworkRules: Hashable, Sendable {
  package enum Statement: Hashable, Sendable {
    case metered(Bool, Subject)
    case constrained(Subject)
    case modem(Glob)
    case tunnel(Glob)
    case ignored(Glob)
    case linkLocal
    case probe(String)
    case portalAPI
  }

  /// The links that a statement is about.
  package enum Subject: Hashable, Sendable {
    case interface(Glob)
    /// The links that have joined a WiFi network with such a name.
    case ssid(Glob)
    /// The links that have such a name, or have joined a WiFi network that has one.
    case either(Glob)
  }

  package private(set) var statements: [Statement] = []

  package init(_ statements: [Statement] = []) { self.statements = statements }

  mutating func add(_ statement: Statement) { statements.append(statement) }

  mutating func removeAll(where isTakenBack: (Statement) -> Bool) { statements.removeAll(where: isTakenBack) }

  // MARK: What is said about a link

  func isModem(_ link: Interface) -> Bool {
    statements.contains { if case .modem(let glob) = $0 { link.isNamed(glob) } else { false } }
  }

  func isTunnel(_ link: Interface) -> Bool {
    statements.contains { if case .tunnel(let glob) = $0 { link.isNamed(glob) } else { false } }
  }

  func isIgnored(_ link: Interface) -> Bool { isIgnored(name: link.nameBytes) }

  /// Returns whether a link with this name is to be treated as absent.
  package func isIgnored(name: some Collection<UInt8>) -> Bool {
    statements.contains { if case .ignored(let glob) = $0 { glob.matches(name) } else { false } }
  }

  /// Whether some links are to be treated as absent.
  package var ignoresLinks: Bool { statements.contains { if case .ignored = $0 { true } else { false } } }

  /// Returns whether a link may cost money; nil if nothing is said about it.
  func isMetered(_ link: Interface) -> Bool? {
    for case .metered(let isMetered, let subject) in statements.reversed() where link.isMeant(by: subject) {
      return isMetered
    }
    return nil
  }

  /// Returns true for a link over which little is to be sent; nil if nothing is said about it.
  func isConstrained(_ link: Interface) -> Bool? {
    statements.contains { if case .constrained(let subject) = $0 { link.isMeant(by: subject) } else { false } }
      ? true : nil
  }

  /// The statements that a verdict depends on.
  package var judging: [Statement] {
    statements.filter {
      switch $0 {
      case .probe, .portalAPI: false
      default: true
      }
    }
  }

  /// Whether the portal API of the network is asked.
  package var asksPortal: Bool { statements.contains(.portalAPI) }

  /// Whether an address in 169.254/16 can be the source of traffic.
  package var allowsLinkLocal: Bool { statements.contains(.linkLocal) }

  /// The URL that is asked whether the internet is there; nil if nothing is said.
  package var probe: String? {
    for case .probe(let url) in statements.reversed() { return url }
    return nil
  }
}

extension Interface {
  fileprivate var nameBytes: [UInt8] { (0..<kernelName.count).map { kernelName[$0] } }

  fileprivate func isNamed(_ glob: Glob) -> Bool { glob.matches(nameBytes) }

  fileprivate func isMeant(by subject: NetworkRules.Subject) -> Bool {
    func joins(_ glob: Glob) -> Bool { wireless?.ssid.map { glob.matches($0.bytes) } ?? false }
    return switch subject {
    case .interface(let glob): isNamed(glob)
    case .ssid(let glob): joins(glob)
    case .either(let glob): isNamed(glob) || joins(glob)
    }
  }
}
