import CLibNetlink
import Netwatch
import NetwatchLibC

/// A socket filter that drops unrelated routes in the kernel: 54,000 of them cost nothing.
///
/// The filter drops route messages whose destination does not contain a watched address, messages of bridges about their ports,
/// and neighbours other than watched routers. It passes everything else. The length of a route's prefix alone would not be
/// enough: 192.0.0.0/9, as address calculators write it, changes the default target.
///
/// The filter is classic BPF. Loads convert big-endian fields into numbers; fields in host order, as in the headers, come out
/// swapped.
struct RouteFilter {
  private static let familyOffset: UInt32 = 16
  private static let prefixLengthOffset: UInt32 = 17
  private static let attributesOffset: UInt32 = 28
  private static let attributeHeader: UInt32 = 4
  /// SKF_AD_OFF + SKF_AD_NLATTR: finds the attribute of type X from offset A on, or returns 0.
  private static let findAttribute = UInt32(bitPattern: -0x1000 + 12)

  /// The most addresses of one family that are compared. The kernel limits a program's memory (net.core.optmem_max). With more
  /// addresses, every route passes.
  private static let limit = 24

  /// The offset of the state in struct ndmsg.
  private static let neighbourStateOffset: UInt32 = 24

  private enum Label: Hashable {
    case link, neighbour, neighbourState(Int), routers(Int), router(Int, AddressFamily, Int, Int)
    case pass, drop, family(AddressFamily), target(Int), word(Int, Int), wholeWord(Int, Int), lastWord(Int, Int)
  }

  /// The numbers of the words in scratch memory.
  private static let attribute: UInt32 = 0
  private static let difference: UInt32 = 1

  private var assembler = FilterAssembler<Label>()
  private let passesHostRoutes: Bool
  private let passesNeighbours: Bool

  private init(passesHostRoutes: Bool, passesNeighbours: Bool) {
    self.passesHostRoutes = passesHostRoutes
    self.passesNeighbours = passesNeighbours
  }

  /// Returns the program for a socket whose reader looks up each of `targets`.
  ///
  /// - Parameters:
  ///   - targets: The addresses to watch.
  ///   - passesHostRoutes: Whether every route to a single address also matters. Default: false.
  ///   - routersInUse: The routers whose failure in the neighbour table matters.
  ///   - otherRouters: The routers whose return in the neighbour table matters.
  ///   - passesNeighbours: Whether every neighbour matters that is there. Default: false.
  static func program(
    watching targets: [InternetAddress], passesHostRoutes: Bool = false, routersInUse: [InternetAddress] = [],
    otherRouters: [InternetAddress] = [], passesNeighbours: Bool = false
  ) -> [sock_filter] {
    var filter = RouteFilter(passesHostRoutes: passesHostRoutes, passesNeighbours: passesNeighbours)
    filter.emit(targets, routersInUse, otherRouters)
    return filter.assembler.assemble()
  }

  private mutating func emit(
    _ targets: [InternetAddress], _ routersInUse: [InternetAddress], _ otherRouters: [InternetAddress]
  ) {
    assembler.load(half: 4)
    assembler.jump(ifEqual: UInt32(UInt16(RTM_NEWROUTE).bigEndian), to: .family(.ipv4))
    assembler.jump(ifEqual: UInt32(UInt16(RTM_DELROUTE).bigEndian), to: .family(.ipv4))
    for type in [RTM_NEWLINK, RTM_DELLINK] { assembler.jump(ifEqual: UInt32(UInt16(type).bigEndian), to: .link) }
    assembler.jump(ifEqual: UInt32(UInt16(RTM_NEWNEIGH).bigEndian), to: .neighbour)
    // With its entry, the kernel forgets that a router has failed.
    assembler.jump(ifEqual: UInt32(UInt16(RTM_DELNEIGH).bigEndian), to: .routers(1))
    assembler.jump(ifEqual: UInt32(UInt16(RTM_GETNEIGH).bigEndian), to: .drop, else: .pass)
    for family in AddressFamily.allCases {
      emit(family, targets.filter { $0.family == family }, isLast: family == AddressFamily.allCases.last)
    }
    assembler.mark(.link)
    // A bridge reports each step of each port under its own family; the link itself is reported under no family.
    assembler.load(byte: Self.familyOffset)
    assembler.jump(ifEqual: UInt32(AF_UNSPEC), to: .pass, else: .drop)
    assembler.mark(.neighbour)
    emitRouters(inUse: routersInUse, others: otherRouters)
    assembler.mark(.pass)
    assembler.finish(accepting: .max)
    assembler.mark(.drop)
    assembler.finish(accepting: 0)
  }

  /// Passes a neighbour that has failed and is in use, or another one that is there.
  private mutating func emitRouters(inUse: [InternetAddress], others: [InternetAddress]) {
    let heard = [NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE]
    let valid = heard + [NUD_PERMANENT]
    if passesNeighbours {
      assembler.load(half: Self.neighbourStateOffset)
      for state in heard { assembler.jump(ifEqual: UInt32(UInt16(state).bigEndian), to: .pass) }
    }
    for (list, (addresses, states)) in [(inUse, [NUD_FAILED]), (others, valid)].enumerated() {
      assembler.mark(.neighbourState(list))
      assembler.load(half: Self.neighbourStateOffset)
      for state in states { assembler.jump(ifEqual: UInt32(UInt16(state).bigEndian), to: .routers(list)) }
      assembler.go(to: .neighbourState(list + 1))
      assembler.mark(.routers(list))
      assembler.load(byte: Self.familyOffset)
      for family in AddressFamily.allCases {
        assembler.jump(ifEqual: UInt32(family.number), to: .router(list, family, 0, 0))
      }
      assembler.go(to: .drop)
      for family in AddressFamily.allCases {
        emit(addresses.filter { $0.family == family }.prefix(Self.limit).map(words), list, family)
      }
    }
    assembler.mark(.neighbourState(2))
    assembler.go(to: .drop)
  }

  /// Passes a neighbour that has one of these addresses of one family.
  private mutating func emit(_ addresses: [[UInt32]], _ list: Int, _ family: AddressFamily) {
    assembler.mark(.router(list, family, 0, 0))
    guard !addresses.isEmpty else { return assembler.go(to: .drop) }
    assembler.load(Self.attributesOffset)
    assembler.setIndex(UInt32(NDA_DST))
    assembler.load(word: Self.findAttribute)
    assembler.jump(ifEqual: 0, to: .drop)
    assembler.store(memory: Self.attribute)
    assembler.loadIndex(memory: Self.attribute)
    for (position, words) in addresses.enumerated() {
      let next = position + 1 < addresses.count ? Label.router(list, family, position + 1, 0) : .drop
      for (place, word) in words.enumerated() {
        if position + place > 0 { assembler.mark(.router(list, family, position, place)) }
        assembler.load(indirectWord: Self.attributeHeader + UInt32(place) * 4)
        let isLast = place + 1 == words.count
        assembler.jump(ifEqual: word, to: isLast ? .pass : .router(list, family, position, place + 1), else: next)
      }
    }
  }

  private mutating func emit(_ family: AddressFamily, _ targets: [InternetAddress], isLast: Bool) {
    assembler.mark(.family(family))
    assembler.load(byte: Self.familyOffset)
    let number = UInt32(family == .ipv4 ? AF_INET : AF_INET6)
    // Routes of neither family (MPLS, multicast) do not matter.
    assembler.jump(ifEqual: number, to: .target(base(family)), else: isLast ? .drop : .family(.ipv6))
    assembler.mark(.target(base(family)))
    guard !targets.isEmpty else { return assembler.go(to: .drop) }
    guard targets.count <= Self.limit else { return assembler.go(to: .pass) }
    assembler.load(byte: Self.prefixLengthOffset)
    assembler.jump(ifEqual: 0, to: .pass)
    if passesHostRoutes { assembler.jump(ifEqual: family == .ipv4 ? 32 : 128, to: .pass) }
    assembler.load(Self.attributesOffset)
    assembler.setIndex(UInt32(RTA_DST.rawValue))
    assembler.load(word: Self.findAttribute)
    // A prefix without an address cannot be compared, so it passes.
    assembler.jump(ifEqual: 0, to: .pass)
    assembler.store(memory: Self.attribute)
    for (position, target) in targets.enumerated() {
      let label = base(family) + position
      if position > 0 { assembler.mark(.target(label)) }
      emit(words(target), label, next: position + 1 < targets.count ? .target(label + 1) : .drop)
    }
  }

  /// Compares the prefix with one address, 32 bits at a time.
  private mutating func emit(_ words: [UInt32], _ label: Int, next: Label) {
    for (position, word) in words.enumerated() {
      let bitsBefore = UInt32(position) * 32
      assembler.mark(.word(label, position))
      assembler.loadIndex(memory: Self.attribute)
      assembler.load(indirectWord: Self.attributeHeader + bitsBefore / 8)
      assembler.exclusiveOr(word)
      assembler.store(memory: Self.difference)
      assembler.load(byte: Self.prefixLengthOffset)
      if position + 1 < words.count {
        // The prefix extends past this word, so the whole word has to be equal.
        assembler.jump(ifGreater: bitsBefore + 32, to: .wholeWord(label, position), else: .lastWord(label, position))
        assembler.mark(.wholeWord(label, position))
        assembler.load(memory: Self.difference)
        assembler.jump(ifEqual: 0, to: .word(label, position + 1), else: next)
        assembler.mark(.lastWord(label, position))
      }
      // The prefix ends in this word, so the bits after its end are shifted out. It has at least one bit here.
      assembler.load(byte: Self.prefixLengthOffset)
      assembler.negate()
      assembler.add(bitsBefore + 32)
      assembler.copyToIndex()
      assembler.load(memory: Self.difference)
      assembler.shiftRightByIndex()
      assembler.jump(ifEqual: 0, to: .pass, else: next)
    }
  }

  private func base(_ family: AddressFamily) -> Int { family == .ipv4 ? 0 : 1000 }

  private func words(_ address: InternetAddress) -> [UInt32] {
    switch address {
    case .v4(let bits): [bits]
    case .v6(let bits): (0..<4).map { UInt32(truncatingIfNeeded: bits >> UInt128(96 - 32 * $0)) }
    }
  }
}
