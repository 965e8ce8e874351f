/// Keeps what networks say about themselves, for each link as long as it stays in its network. Pure.
package struct AnnouncementMachine: Sendable {
  package enum Input: Hashable, Sendable {
    /// A router has advertised something.
    case advertised(RouterOption)
    /// The DHCP lease of a link says this about its captive portal; nil if there is none, or it says nothing.
    case leased(link: Int32, PortalAPI?)
    /// The path, with the links as they are now.
    case path(NetworkPath)
  }

  /// What was heard over a link.
  private struct Attachment: Hashable {
    /// How often the link had lost its carrier when this was heard; nil if that is not known.
    var carrierLosses: Int?
    var advertised: PortalAPI?
    var leased: PortalAPI?
    /// A lease was asked for and sent to this machine, so it counts before an advertisement, which anybody can send to all. RFC 8910,
    /// section 3, leaves the order to the client.
    var portalAPI: PortalAPI? { leased ?? advertised }
  }

  /// The number of links beyond which those are forgotten that are not in the path's list, because a machine may make links all the time.
  private static let mostLinks = 256

  private var attachments: [Int32: Attachment] = [:]
  private var path: NetworkPath?

  package init() {}

  /// What the network that carries the path has said.
  package var announcements: NetworkAnnouncements {
    let link = path?.interfaceIndex ?? path?.ipv6?.interfaceIndex
    return NetworkAnnouncements(portalAPI: link.flatMap { attachments[$0]?.portalAPI })
  }

  /// Handles an input.
  ///
  /// - Returns: Whether ``announcements`` have changed.
  package mutating func handle(_ input: Input) -> Bool {
    let before = announcements
    switch input {
    case .advertised(let option):
      remember(option.interfaceIndex)
      switch option.content {
      case .captivePortal(let portal): attachments[option.interfaceIndex]?.advertised = portal
      }
    case .leased(let link, let portal):
      if portal != nil { remember(link) }
      attachments[link]?.leased = portal
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
