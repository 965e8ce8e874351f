import Netwatch

/// Questions about links and addresses.
///
/// The kernel answers within the send, so nothing here waits, but for other changes to the network that hold its lock.
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
  /// - Returns: false if something changed meanwhile, so that it may not be whole.
  func list(_ body: (NetworkEvent) -> Void) throws(NetlinkError) -> Bool {
    guard try ask(&linkList, body).isComplete("RTM_GETLINK dump") else { return false }
    return try ask(&addressList, body).isComplete("RTM_GETADDR dump")
  }

  /// Reads one link. Silent if it does not exist.
  func read(_ index: Int32, _ body: (NetworkEvent) -> Void) throws(NetlinkError) {
    link.setLinkIndex(index)
    try ask(&link, body).check("RTM_GETLINK")
  }

  /// Returns when the kernel has finished what it was doing: it tells of some removals before it does them, and reading a
  /// link takes the lock under which it does.
  func waitForPendingChanges() throws(NetlinkError) { try read(1) { _ in } }

  private func ask(
    _ request: inout NetlinkRequest, _ body: (NetworkEvent) -> Void
  ) throws(NetlinkError) -> NetlinkConversation.Reply {
    try conversation.ask(&request) { frame, bytes in
      if case .event(let event) = NetlinkDecoder.message(frame, bytes, as: .answer) { body(event) }
    }
  }
}
