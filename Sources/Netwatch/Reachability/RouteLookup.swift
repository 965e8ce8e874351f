/// A question to the kernel: which way would a packet to the target leave?
package struct RouteRequest: Hashable, Sendable {
  package enum Scope: Hashable, Sendable {
    /// As for any program of this user.
    case plain
    /// The route itself with all its next hops, not the one hop that is chosen by hash.
    case allHops
    /// As if this link were the only one. Asks for the route itself too: else IPv4 answers "on the link" without any.
    case link(Int32)
  }

  package let family: AddressFamily
  package let scope: Scope

  package init(_ family: AddressFamily, _ scope: Scope = .plain) {
    self.family = family
    self.scope = scope
  }
}

/// One way out.
package struct RouteHop: Hashable, Sendable {
  package var interfaceIndex: Int32
  package var gateway: IPAddress?
  /// Nil where the kernel names none: a question for the route itself.
  package var source: IPAddress?
  /// Lower is better.
  package var metric: UInt32

  package init(interfaceIndex: Int32, gateway: IPAddress? = nil, source: IPAddress? = nil, metric: UInt32 = 0) {
    self.interfaceIndex = interfaceIndex
    self.gateway = gateway
    self.source = source
    self.metric = metric
  }
}

/// The kernel's answer to a ``RouteRequest``.
package enum RouteAnswer: Hashable, Sendable {
  case hop(RouteHop)
  /// More than one way, to a question for all hops.
  case hops([RouteHop])
  /// Nothing matches, or a `throw` route does (ENETUNREACH).
  case noRoute
  /// A route says no (EHOSTUNREACH, EACCES, EINVAL for a black hole), or the answer is no unicast route.
  case refused
}

/// What a path leads to.
public enum RouteTarget: Hashable, Sendable {
  /// The internet: 192.0.2.1 and 2001:db8::1, which are for documentation (RFC 5737, RFC 3849) and so need not exist and
  /// have no routes of their own. No packet is ever sent there.
  case internet
  /// One address.
  case address(IPAddress)

  /// What is looked up for a family; nil where the target is of the other one.
  package func literal(_ family: AddressFamily) -> IPAddress? {
    switch (self, family) {
    case (.internet, .ipv4): .v4(0xc000_0201)
    case (.internet, .ipv6): .v6(0x2001_0db8_0000_0000_0000_0000_0000_0001)
    case (.address(let address), _): address.family == family ? address : nil
    }
  }

  package var families: AddressFamilies {
    switch self {
    case .internet: .both
    case .address(let address): AddressFamilies(address.family)
    }
  }
}
