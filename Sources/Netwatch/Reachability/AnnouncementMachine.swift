/// Keeps what networks say about themselves, for each link as long as it stays in its network. Pure.
package struct AnnouncementMachine: Sendable {
  package enum Input: Hashable, Sendable {
    /// A router has advertised something.
    case advertised(RouterOption)
    /// The DHCP lease of a link, or its link manager, says this about its network; nil if there is none.
    case leased(link: Int32, LeasedFacts?)
    /// The path, with the links as they are now.
    case path(NetworkPath)
    /// The time has come that ``deadline`` has named.
    case timerFired
  }

  /// What was heard over a link.
  private struct Attachment: Hashable {
    /// How often the link had lost its carrier when this was heard; nil if that is not known.
    var carrierLosses: Int?
    var advertised: PortalAPI?
    var leased: LeasedFacts?
    var nameServers = Advertised<InternetAddress>(limit: 16)
    var translationPrefixes = Advertised<NAT64Prefix>(limit: 4)
    /// A lease was asked for and sent to this machine, so it counts before an advertisement, which anybody can send to all. RFC 8910,
    /// section 3, leaves the order to the client.
    var portalAPI: PortalAPI? { leased?.portalAPI ?? advertised }

    mutating func expire(at now: Duration) {
      nameServers.expire(at: now)
      translationPrefixes.expire(at: now)
    }
  }

  /// Values that routers have advertised, each for a time. The one that was heard first comes first.
  private struct Advertised<Value: Hashable & Sendable>: Hashable {
    private struct Item: Hashable {
      let value: Value
      /// Nil for ever.
      let end: Duration?
    }

    private let limit: Int
    private var items: [Item] = []

    /// - Parameter limit: The most values that are kept, because anybody can advertise any number.
    init(limit: Int) { self.limit = limit }

    var values: [Value] { items.map(\.value) }
    var nextEnd: Duration? { items.compactMap(\.end).min() }

    /// - Parameter lifetime: Nil for ever. Zero takes the value back.
    mutating func set(_ value: Value, for lifetime: Duration?, at now: Duration) {
      let item = Item(value: value, end: lifetime.map { now + $0 })
      if let place = items.firstIndex(where: { $0.value == value }) {
        items[place] = item
      } else if items.count < limit {
        items.append(item)
      }
      expire(at: now)
    }

    mutating func expire(at now: Duration) { items.removeAll { item in item.end.map { $0 <= now } ?? false } }
  }

  /// The number of links beyond which those are forgotten that are not in the path's list, because a machine may make links all the time.
  private static let mostLinks = 256

  private var attachments: [Int32: Attachment] = [:]
  private var path: NetworkPath?

  package init() {}

  /// What the network that carries the path has said.
  package var announcements: NetworkAnnouncements {
    NetworkAnnouncements(
      portalAPI: attachment?.portalAPI, translationPrefix: attachment?.translationPrefixes.values.first,
      nameServers: nameServers)
  }

  /// The name servers that the network has named for the link that carries the path: those of the lease, then those of routers.
  private var nameServers: [InternetAddress] {
    let leased = attachment?.leased?.nameServers ?? []
    return leased + (attachment?.nameServers.values.filter { !leased.contains($0) } ?? [])
  }

  /// The time of the next ``Input/timerFired``; nil for none.
  package var deadline: Duration? {
    attachments.values.flatMap { [$0.nameServers.nextEnd, $0.translationPrefixes.nextEnd].compactMap(\.self) }.min()
  }

  private var attachment: Attachment? {
    (path?.interfaceIndex ?? path?.ipv6?.interfaceIndex).flatMap { attachments[$0] }
  }

  /// Handles an input.
  ///
  /// - Returns: Whether ``announcements`` have changed.
  package mutating func handle(_ input: Input, at now: Duration) -> Bool {
    let before = announcements
    for link in attachments.keys { attachments[link]?.expire(at: now) }
    switch input {
    case .advertised(let option):
      remember(option.interfaceIndex)
      switch option.content {
      case .captivePortal(let portal): attachments[option.interfaceIndex]?.advertised = portal
      case .nameServers(let servers, let lifetime):
        for server in servers { attachments[option.interfaceIndex]?.nameServers.set(server, for: lifetime, at: now) }
      case .translationPrefix(let prefix, let lifetime):
        attachments[option.interfaceIndex]?.translationPrefixes.set(prefix, for: lifetime, at: now)
      }
    case .leased(let link, let facts):
      if facts != nil { remember(link) }
      attachments[link]?.leased = facts
    case .timerFired: break
    case .path(let path):
      self.path = path
      for (index, known) in attachments {
        let link = path.links.interface(index)
        // A link that loses its carrier may be in another network when the carrier is back.
        let isGone = link.map { $0.fault != nil || known.carrierLosses ?? $0.carrierLosses != $0.carrierLosses }
        attachments[index]?.carrierLosses = link?.carrierLosses
        // A link may be heard before the kernel has reported it.
        if isGone ?? (known.carrierLosses != nil) { attachments[index] = nil }
      }
    }
    return announcements != before
  }

  private mutating func remember(_ link: Int32) {
    if attachments[link] != nil { return }
    if attachments.count >= Self.mostLinks {
      attachments = attachments.filter { path?.links.interface($0.key) != nil }
    }
    attachments[link] = Attachment(carrierLosses: path?.links.interface(link)?.carrierLosses)
  }
}

/// What the DHCP lease of a link, or its link manager, says about its network.
package struct LeasedFacts: Hashable, Sendable {
  /// What it says about the captive portal (RFC 8910); nil if nothing.
  package var portalAPI: PortalAPI?
  /// The addresses of name servers.
  package var nameServers: [InternetAddress] = []

  package init(portalAPI: PortalAPI? = nil, nameServers: [InternetAddress] = []) {
    (self.portalAPI, self.nameServers) = (portalAPI, nameServers)
  }
}
