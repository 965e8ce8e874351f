import Netwatch

/// Decides which connections of a session are lost when the network changes. Pure: events in, effects out.
///
/// ```
///   opened --> asked --link--> sound(link) <------- the same link again ------+
///                |                |  another link, or no route                |
///                |                +----------------------------------> suspect(until)
///                +------------------ no route ------------------------^      |
///   the local address is gone, or the grace is over: the connection is lost  <+
/// ```
///
/// A connection is never lost while the kernel does not answer about its route.
struct ConnectionMachine {
  enum Event {
    /// - Parameter socket: The descriptor of the connection, which has not been opened before, or has been closed.
    case opened(_ socket: CInt, Connection)
    /// The connection with this descriptor was closed.
    case closed(_ socket: CInt)
    /// Links, addresses, routes or rules have changed.
    case networkChanged
    /// The kernel's answer to ``Effect/ask(_:_:)``.
    case answered(_ socket: CInt, PeerRoute)
    /// The time of the last ``Effect/wake(at:)`` has come.
    case woke
  }

  /// The effects, to be carried out in order.
  enum Effect: Hashable {
    /// Ask the kernel for the route of a connection.
    case ask(_ socket: CInt, Connection)
    /// Close the connection. The machine has forgotten it.
    case lose(_ socket: CInt, Connection)
    /// Send ``Event/woke`` at this time. An earlier request for a later time is void.
    case wake(at: Duration)
  }

  private enum Standing: Hashable {
    /// The kernel has not answered yet, or cannot answer.
    case unknown
    case sound(link: Int32)
    /// The route has changed.
    ///
    /// - Parameter link: The link of the connection; nil if it never had one.
    case suspect(link: Int32?, until: Duration)
  }

  /// The time for which a changed route is tolerated.
  private let grace: Duration
  private var entries: [CInt: (connection: Connection, standing: Standing)] = [:]
  private var wakeTime: Duration?

  init(grace: Duration) { self.grace = grace }

  mutating func handle(_ event: Event, at now: Duration) -> [Effect] {
    switch event {
    case .opened(let socket, let connection):
      entries[socket] = (connection, .unknown)
      return [.ask(socket, connection)]
    case .closed(let socket):
      entries[socket] = nil
      return []
    case .networkChanged:
      return questions { _ in true }
    case .answered(let socket, let route):
      return answered(socket, route, now)
    case .woke:
      wakeTime = nil
      let due = questions { standing in
        if case .suspect(_, let until) = standing { until <= now } else { false }
      }
      return due + wake(for: nextDeadline(after: now))
    }
  }

  private func questions(where isAsked: (Standing) -> Bool) -> [Effect] {
    // In a fixed order, so that a test can replay the effects.
    entries.sorted { $0.key < $1.key }.compactMap { socket, entry in
      isAsked(entry.standing) ? .ask(socket, entry.connection) : nil
    }
  }

  private mutating func answered(_ socket: CInt, _ route: PeerRoute, _ now: Duration) -> [Effect] {
    guard let entry = entries[socket] else { return [] }
    let (next, isLost) = Self.evaluate(entry.standing, route, now, grace)
    if isLost {
      entries[socket] = nil
      return [.lose(socket, entry.connection)]
    }
    entries[socket]?.standing = next
    if case .suspect(_, let until) = next { return wake(for: until) }
    return []
  }

  private static func evaluate(
    _ standing: Standing, _ route: PeerRoute, _ now: Duration, _ grace: Duration
  ) -> (Standing, isLost: Bool) {
    switch (standing, route) {
    case (_, .unknown): return (.unknown, false)
    case (.unknown, .link(let link)): return (.sound(link: link), false)
    case (.sound(let link), .link(let other)) where link == other: return (standing, false)
    case (.suspect(let link?, _), .link(let other)) where link == other: return (.sound(link: link), false)
    // The connection was opened while there was no route, and now there is one.
    case (.suspect(nil, _), .link(let link)): return (.sound(link: link), false)
    case (_, .localAddressGone): return (standing, true)
    case (.suspect(_, let until), _): return (standing, until <= now)
    case (.sound(let link), _): return (.suspect(link: link, until: now + grace), grace == .zero)
    case (.unknown, .none): return (.suspect(link: nil, until: now + grace), grace == .zero)
    }
  }

  private func nextDeadline(after now: Duration) -> Duration? {
    entries.values.compactMap { entry in
      if case .suspect(_, let until) = entry.standing, until > now { until } else { nil }
    }.min()
  }

  private mutating func wake(for deadline: Duration?) -> [Effect] {
    guard let deadline, wakeTime.map({ deadline < $0 }) ?? true else { return [] }
    wakeTime = deadline
    return [.wake(at: deadline)]
  }
}

/// The two ends of a connection of a session. If there is a proxy, the peer is the proxy.
struct Connection: Hashable, Sendable {
  let local: InternetAddress
  let localPort: UInt16
  let peer: InternetAddress
  let peerPort: UInt16
  /// The index of the interface that link-local addresses belong to. 0 for other addresses, or if it is not known.
  var scope: Int32 = 0

  /// Whether both ends are the same, without regard to the interface.
  func hasEnds(of other: Connection) -> Bool {
    local == other.local && localPort == other.localPort && peer == other.peer && peerPort == other.peerPort
  }
}

/// The kernel's answer about the route to a peer.
enum PeerRoute: Hashable, Sendable {
  /// Packets leave by the interface with this index, which has a carrier, or they stay on this machine.
  case link(Int32)
  /// There is no route, or its interface has no carrier.
  case none
  /// The local address is no longer assigned to this machine.
  case localAddressGone
  /// The kernel has not answered.
  case unknown
}
