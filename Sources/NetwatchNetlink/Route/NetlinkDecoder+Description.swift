import CLibNetlinkRoute
import NetlinkWire
import Netwatch

extension NetlinkDecoder {
  /// Returns a log that prints each message of a socket, if the environment asks for it.
  static func log(_ source: String, as context: Context) -> NetlinkDebugLog? {
    NetlinkDebugLog(source) { "\(message($0, $1, as: context))" }
  }
}

/// The description of a message for ``NetlinkDebugLog``. libnl has the names of flags and states.
extension NetlinkDecoder.Message: CustomStringConvertible {
  /// The content of the message, in words.
  package var description: String {
    switch self {
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
    case .event(.routing(let families, let isRemoval)): return hint("routing", families, isRemoval)
    case .event(.rules(let families, let isRemoval)): return hint("rules", families, isRemoval)
    case .event(.wireless(let index, let wireless)):
      return "wireless \(index) \(wireless.map { "\($0)" } ?? "-")"
    case .event(.lease(let index, let isMetered)): return "lease \(index)\(isMetered ? " metered" : "")"
    case .route(let answer): return "route \(answer)"
    case .routeOverNextHop(let number, let hop): return "route over next hop \(number): \(hop)"
    case .nextHop(let object): return "next hop \(object)"
    case .event(.neighbour(let neighbour, let isReachable)):
      return "neighbour \(neighbour.address) on \(neighbour.interfaceIndex) \(isReachable ? "reachable" : "failed")"
    case .rule(let rule): return "rule \(rule)"
    case .ignored: return "ignored"
    }
  }

  private func hint(_ what: String, _ families: AddressFamilies, _ isRemoval: Bool) -> String {
    let names = [families.contains(.ipv4) ? "IPv4" : "", families.contains(.ipv6) ? "IPv6" : ""]
    return "\(what) \(names.filter { !$0.isEmpty }.joined(separator: " and ")) \(isRemoval ? "removed" : "changed")"
  }

  private func text(_ index: Int32?) -> String { index.map { "\($0)" } ?? "-" }

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
