import CLibNetlink
import Netwatch
import NetwatchLibC

/// A socket filter for the neighbour table that passes the messages about some neighbours. On a busy network, each neighbour
/// would otherwise wake the thread several times a minute.
///
/// The filter compares the last four bytes of an address, which is the whole address for IPv4. The reader has to compare the
/// rest.
struct NeighbourFilter {
  private static let familyOffset: UInt32 = 16
  /// The offset of the attributes, after struct nlmsghdr and struct ndmsg.
  private static let attributesOffset: UInt32 = 28
  private static let attributeHeader: UInt32 = 4
  /// SKF_AD_OFF + SKF_AD_NLATTR: finds the attribute of type X from offset A on, or returns 0.
  private static let findAttribute = UInt32(bitPattern: -0x1000 + 12)
  /// The number of a word in scratch memory.
  private static let attribute: UInt32 = 0
  /// The most neighbours that are compared. A machine does not have more routers.
  private static let limit = 24

  private enum Label: Hashable { case pass, drop, family(AddressFamily) }

  static func program(passing neighbours: [Neighbour]) -> [sock_filter] {
    var assembler = FilterAssembler<Label>()
    assembler.load(byte: familyOffset)
    for family in AddressFamily.allCases { assembler.jump(ifEqual: UInt32(family.number), to: .family(family)) }
    assembler.go(to: .drop)
    for family in AddressFamily.allCases {
      assembler.mark(.family(family))
      assembler.load(attributesOffset)
      assembler.setIndex(UInt32(NDA_DST))
      assembler.load(word: findAttribute)
      assembler.jump(ifEqual: 0, to: .drop)
      assembler.store(memory: attribute)
      assembler.loadIndex(memory: attribute)
      assembler.load(indirectWord: attributeHeader + (family == .ipv4 ? 0 : 12))
      for neighbour in neighbours.prefix(limit) where neighbour.address.family == family {
        assembler.jump(ifEqual: neighbour.address.lastWord, to: .pass)
      }
      assembler.go(to: .drop)
    }
    assembler.mark(.pass)
    assembler.finish(accepting: .max)
    assembler.mark(.drop)
    assembler.finish(accepting: 0)
    return assembler.assemble()
  }
}

extension InternetAddress {
  fileprivate var lastWord: UInt32 {
    switch self {
    case .v4(let bits): bits
    case .v6(let bits): UInt32(truncatingIfNeeded: bits)
    }
  }
}
