import CLibNetlink
import Netwatch

/// IFLA_LINKINFO: the driver's kind of a software link, and what that driver says of it.
enum LinkInfoDecoder {
  static func read(_ bytes: RawSpan, _ info: Range<Int>, into fact: inout LinkFact) {
    var data: Range<Int>?
    var cursor = NetlinkCursor(info)
    while let attribute = cursor.nextAttribute(in: bytes) {
      switch attribute.type {
      case IFLA_INFO_KIND: fact.kind = bytes.text(attribute.value)
      case IFLA_INFO_DATA: data = attribute.value
      default: break
      }
    }
    guard let data, let kind = fact.kind else { return }
    let known = attributes(of: kind)
    guard known.port != nil || known.remote4 != nil || known.remote6 != nil else { return }
    var inner = NetlinkCursor(data)
    while let attribute = inner.nextAttribute(in: bytes) {
      switch attribute.type {
      case known.lower: fact.lowerIndex = bytes.number(attribute.value, as: Int32.self).flatMap { $0 > 0 ? $0 : nil }
      case known.port: fact.activePortIndex = bytes.number(attribute.value, as: Int32.self)
      case known.remote4: remote(NetlinkDecoder.ipAddress(bytes, attribute.value, family: AddressFamily.ipv4.number))
      case known.remote6: remote(NetlinkDecoder.ipAddress(bytes, attribute.value, family: AddressFamily.ipv6.number))
      default: break
      }
    }

    /// A tunnel to anybody or to a group names no other end.
    func remote(_ address: IPAddress?) {
      if let address, !address.isUnspecified, !address.isMulticast { fact.remote = address }
    }
  }

  private struct KnownAttributes {
    /// A bond's active port.
    var port: Int?
    /// The link beneath, where IFLA_LINK does not say it.
    var lower: Int?
    var remote4: Int?
    var remote6: Int?
  }

  private static func attributes(of kind: String) -> KnownAttributes {
    switch kind {
    case "bond": .init(port: IFLA_BOND_ACTIVE_SLAVE)
    case "ipip", "sit": .init(remote4: IFLA_IPTUN_REMOTE)
    case "ip6tnl": .init(remote6: IFLA_IPTUN_REMOTE)
    case "gre", "gretap", "erspan": .init(remote4: IFLA_GRE_REMOTE)
    case "ip6gre", "ip6gretap", "ip6erspan": .init(remote6: IFLA_GRE_REMOTE)
    case "vti": .init(remote4: IFLA_VTI_REMOTE)
    case "vti6": .init(remote6: IFLA_VTI_REMOTE)
    case "vxlan": .init(lower: IFLA_VXLAN_LINK, remote4: IFLA_VXLAN_GROUP, remote6: IFLA_VXLAN_GROUP6)
    case "geneve": .init(remote4: IFLA_GENEVE_REMOTE, remote6: IFLA_GENEVE_REMOTE6)
    default: .init()
    }
  }
}
