import CLibNetlink
import CLibNetlinkRoute
import Glibc
import Netwatch

/// `NETWATCH_DEBUG=netlink`: each decoded message on stderr, with its bytes.
struct NetlinkTrace {
  /// Nil unless the environment asks for it.
  static func fromEnvironment() -> NetlinkTrace? { isAskedFor("netlink") ? NetlinkTrace() : nil }

  /// Whether `NETWATCH_DEBUG` has a topic among its own, with commas between them.
  static func isAskedFor(_ topic: String) -> Bool {
    guard let value = unsafe getenv("NETWATCH_DEBUG") else { return false }
    return unsafe String(cString: value).split(separator: ",").contains { $0 == topic }
  }

  func print(
    _ source: String, _ header: NetlinkDecoder.Header, _ message: NetlinkDecoder.Message, _ bytes: RawSpan,
    _ range: Range<Int>
  ) {
    print(source, header, text(message), bytes, range)
  }

  func print(
    _ source: String, _ header: NetlinkDecoder.Header, _ text: String, _ bytes: RawSpan, _ range: Range<Int>
  ) {
    var line = "netwatch: netlink \(source) type \(header.type) seq \(header.sequence)"
    if header.isInterrupted { line += " interrupted" }
    line += ": \(text)\n  \(range.count) bytes:"
    for offset in range { line += " " + hex(bytes.load(offset, as: UInt8.self)) }
    line += "\n"
    var copy = line
    copy.withUTF8 { text in _ = unsafe write(STDERR_FILENO, text.baseAddress, text.count) }
  }

  private func text(_ message: NetlinkDecoder.Message) -> String {
    switch message {
    case .event(.link(let fact)):
      let state = fact.operationalState.map { name(of: $0) } ?? "-"
      return
        "link \(fact.index) \(fact.name?.text ?? "-") kind \(fact.kind ?? "-") flags <\(names(ofLinkFlags: fact.flags))> "
        + "operstate \(state) master \(text(fact.masterIndex)) lower \(text(fact.lowerIndex))"
        + (fact.isComplete ? "" : " (partial)")
    case .event(.linkRemoved(let index)): return "link \(index) removed"
    case .event(.address(let index, let address)):
      return "address \(address.address)/\(address.prefixLength) on \(index) "
        + "flags <\(names(ofAddressFlags: address.flags))>"
    case .event(.addressRemoved(let index, let address, let length)):
      return "address \(address)/\(length) on \(index) removed"
    case .event(.routing(let families, let isRemoval)):
      let names = [families.contains(.ipv4) ? "IPv4" : "", families.contains(.ipv6) ? "IPv6" : ""]
      return "routing \(names.filter { !$0.isEmpty }.joined(separator: " and ")) \(isRemoval ? "removed" : "changed")"
    case .event(.wireless(let index, let wireless)):
      return "wireless \(index) \(wireless.map { "\($0)" } ?? "-")"
    case .route(let answer): return "route \(answer)"
    case .routeOverNextHop(let number, let hop): return "route over next hop \(number): \(hop)"
    case .nextHop(let object): return "next hop \(object)"
    case .event(.neighbour(let neighbour, let isReachable)):
      return "neighbour \(neighbour.address) on \(neighbour.interfaceIndex) \(isReachable ? "reachable" : "failed")"
    case .rule(let rule): return "rule \(rule)"
    case .done: return "done"
    case .error(let code):
      return unsafe code == 0 ? "acknowledged" : "error \(code) (\(String(cString: strerror(code))))"
    case .overrun: return "overrun"
    case .ignored: return "ignored"
    }
  }

  private func text(_ index: Int32?) -> String { index.map { "\($0)" } ?? "-" }

  private func hex(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  private func name(of state: OperationalState) -> String {
    unsafe named { buffer, size in unsafe rtnl_link_operstate2str(state.rawValue, buffer, size) }
  }

  private func names(ofLinkFlags flags: UInt32) -> String {
    unsafe named { buffer, size in unsafe rtnl_link_flags2str(CInt(bitPattern: flags), buffer, size) }
  }

  private func names(ofAddressFlags flags: UInt32) -> String {
    unsafe named { buffer, size in unsafe rtnl_addr_flags2str(CInt(bitPattern: flags), buffer, size) }
  }

  private func named(
    _ body: (UnsafeMutablePointer<CChar>, Int) -> UnsafeMutablePointer<CChar>?
  ) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      guard let base = buffer.baseAddress, let text = unsafe body(base, buffer.count) else { return "" }
      return unsafe String(cString: text)
    }
  }
}
