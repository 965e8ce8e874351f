import Netwatch

/// Requests about links and addresses.
///
/// The kernel responds within the send, so the calls do not wait, except for other changes to the network that hold the
/// kernel's lock.
final class LinkQueries {
  private let conversation: NetlinkConversation
  private var linkList: NetlinkRequest
  private var addressList: NetlinkRequest
  private var link: NetlinkRequest

  init(by conversation: NetlinkConversation) throws(NetlinkError) {
    self.conversation = conversation
    linkList = try .links()
    addressList = try .addresses()
    link = try .link()
  }

  /// Lists links, then addresses.
  ///
  /// - Returns: False if something changed meanwhile, so that the list may be incomplete.
  func list(_ body: (NetworkEvent) -> Void) throws(NetlinkError) -> Bool {
    guard try ask(&linkList, body).isComplete("RTM_GETLINK dump") else { return false }
    return try ask(&addressList, body).isComplete("RTM_GETADDR dump")
  }

  /// Reads one link. If the link does not exist, `body` is not called.
  func read(_ index: Int32, _ body: (NetworkEvent) -> Void) throws(NetlinkError) {
    link.setLinkIndex(index)
    try ask(&link, body).check("RTM_GETLINK")
  }

  /// Returns when the kernel has finished its pending changes. It reports some removals before it performs them, and reading a
  /// link takes the lock that it holds meanwhile.
  func waitForPendingChanges() throws(NetlinkError) { try read(1) { _ in } }

  private func ask(
    _ request: inout NetlinkRequest, _ body: (NetworkEvent) -> Void
  ) throws(NetlinkError) -> NetlinkConversation.Reply {
    try conversation.ask(&request) { frame, bytes in
      if case .event(let event) = NetlinkDecoder.message(frame, bytes, as: .answer) { body(event) }
    }
  }
}
