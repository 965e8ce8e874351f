import CLibNetlink
import Glibc
import Netwatch

/// A socket filter that keeps unrelated routes in the kernel: 54,000 of them cost nothing.
///
/// It passes everything but route messages whose destination does not contain a watched address, what bridges say of their ports,
/// and neighbours other than watched routers. The length of a route's prefix alone would not do: 192.0.0.0/9, as address calculators write it, moves the default target.
///
/// Classic BPF. Loads turn big-endian fields into numbers; host-order fields, as in the headers, come out swapped.
struct RouteFilter {
  private static let familyOffset: UInt32 = 16
  private static let prefixLengthOffset: UInt32 = 17
  private static let attributesOffset: UInt32 = 28
  private static let attributeHeader: UInt32 = 4
  /// SKF_AD_OFF + SKF_AD_NLATTR: finds the attribute of type X from offset A on, or 0.
  private static let findAttribute = UInt32(bitPattern: -0x1000 + 12)

  /// Addresses of one family that are compared. The kernel limits a program's memory (net.core.optmem_max); beyond this
  /// every route passes.
  private static let limit = 24

  /// struct ndmsg has its state here.
  private static let neighbourStateOffset: UInt32 = 24

  private enum Label: Hashable {
    case link, neighbour, neighbourState(Int), router(Int, Int)
    case pass, drop, family(AddressFamily), target(Int), word(Int, Int), wholeWord(Int, Int), lastWord(Int, Int)
  }

  /// Words of scratch memory.
  private static let attribute: UInt32 = 0
  private static let difference: UInt32 = 1

  private var assembler = FilterAssembler<Label>()
  private let passesHostRoutes: Bool

  private init(passesHostRoutes: Bool) { self.passesHostRoutes = passesHostRoutes }

  /// The program for a socket where each of `targets` is looked up.
  ///
  /// - Parameters:
  ///   - passesHostRoutes: whether every route to a single address matters, too.
  ///   - routersInUse: IPv6 routers whose end in the kernel's table of neighbours matters.
  ///   - deadRouters: those whose return there matters.
  static func program(
    watching targets: [IPAddress], passesHostRoutes: Bool = false, routersInUse: [IPAddress] = [],
    deadRouters: [IPAddress] = []
  ) -> [sock_filter] {
    var filter = RouteFilter(passesHostRoutes: passesHostRoutes)
    filter.emit(targets, routersInUse, deadRouters)
    return filter.assembler.assemble()
  }

  private mutating func emit(_ targets: [IPAddress], _ routersInUse: [IPAddress], _ deadRouters: [IPAddress]) {
    assembler.load(half: 4)
    assembler.jump(ifEqual: UInt32(UInt16(RTM_NEWROUTE).bigEndian), to: .family(.ipv4))
    assembler.jump(ifEqual: UInt32(UInt16(RTM_DELROUTE).bigEndian), to: .family(.ipv4))
    for type in [RTM_NEWLINK, RTM_DELLINK] { assembler.jump(ifEqual: UInt32(UInt16(type).bigEndian), to: .link) }
    assembler.jump(ifEqual: UInt32(UInt16(RTM_NEWNEIGH).bigEndian), to: .neighbour)
    assembler.jump(ifEqual: UInt32(UInt16(RTM_DELNEIGH).bigEndian), to: .drop)
    assembler.jump(ifEqual: UInt32(UInt16(RTM_GETNEIGH).bigEndian), to: .drop, else: .pass)
    for family in AddressFamily.allCases {
      emit(family, targets.filter { $0.family == family }, isLast: family == AddressFamily.allCases.last)
    }
    assembler.mark(.link)
    // A bridge announces each step of each port under its own family; the link itself is announced under none.
    assembler.load(byte: Self.familyOffset)
    assembler.jump(ifEqual: UInt32(AF_UNSPEC), to: .pass, else: .drop)
    assembler.mark(.neighbour)
    emitRouters(inUse: routersInUse, dead: deadRouters)
    assembler.mark(.pass)
    assembler.finish(accepting: .max)
    assembler.mark(.drop)
    assembler.finish(accepting: 0)
  }

  /// Lets a neighbour pass that has failed and is in use, or is there again.
  private mutating func emitRouters(inUse: [IPAddress], dead: [IPAddress]) {
    let valid = [NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE, NUD_PERMANENT]
    for (number, (addresses, states)) in [(inUse, [NUD_FAILED]), (dead, valid)].enumerated() {
      assembler.mark(.neighbourState(number))
      assembler.load(half: Self.neighbourStateOffset)
      for state in states { assembler.jump(ifEqual: UInt32(UInt16(state).bigEndian), to: .router(number, 0)) }
      assembler.go(to: .neighbourState(number + 1))
      emit(addresses.filter { $0.family == .ipv6 }.prefix(Self.limit).map(words), list: number)
    }
    assembler.mark(.neighbourState(2))
    assembler.go(to: .drop)
  }

  /// Lets a neighbour pass that has one of these addresses.
  private mutating func emit(_ addresses: [[UInt32]], list number: Int) {
    assembler.mark(.router(number, 0))
    guard !addresses.isEmpty else { return assembler.go(to: .drop) }
    assembler.load(byte: Self.familyOffset)
    assembler.jump(ifEqual: UInt32(AF_INET6), to: .router(number, 1), else: .drop)
    assembler.mark(.router(number, 1))
    assembler.load(Self.attributesOffset)
    assembler.setIndex(UInt32(NDA_DST))
    assembler.load(word: Self.findAttribute)
    assembler.jump(ifEqual: 0, to: .drop)
    assembler.store(memory: Self.attribute)
    assembler.loadIndex(memory: Self.attribute)
    for (position, words) in addresses.enumerated() {
      let next = position + 1 < addresses.count ? Label.router(number, 10 * (position + 1)) : .drop
      if position > 0 { assembler.mark(.router(number, 10 * position)) }
      for (place, word) in words.enumerated() {
        assembler.load(indirectWord: Self.attributeHeader + UInt32(place) * 4)
        let isLast = place + 1 == words.count
        let further = Label.router(number, 10 * position + 2 + place)
        assembler.jump(ifEqual: word, to: isLast ? .pass : further, else: next)
        if !isLast { assembler.mark(further) }
      }
    }
  }

  private mutating func emit(_ family: AddressFamily, _ targets: [IPAddress], isLast: Bool) {
    assembler.mark(.family(family))
    assembler.load(byte: Self.familyOffset)
    let number = UInt32(family == .ipv4 ? AF_INET : AF_INET6)
    // Routes of neither family (MPLS, multicast) move nothing.
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
    // A prefix without an address: nothing to compare, so better let it through.
    assembler.jump(ifEqual: 0, to: .pass)
    assembler.store(memory: Self.attribute)
    for (position, target) in targets.enumerated() {
      let label = base(family) + position
      if position > 0 { assembler.mark(.target(label)) }
      emit(words(target), label, next: position + 1 < targets.count ? .target(label + 1) : .drop)
    }
  }

  /// Compares the prefix with one address, a word of 32 bits at a time.
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
        // The prefix reaches past this word: all of it has to be equal.
        assembler.jump(ifGreater: bitsBefore + 32, to: .wholeWord(label, position), else: .lastWord(label, position))
        assembler.mark(.wholeWord(label, position))
        assembler.load(memory: Self.difference)
        assembler.jump(ifEqual: 0, to: .word(label, position + 1), else: next)
        assembler.mark(.lastWord(label, position))
      }
      // The prefix ends in this word: shift out what lies behind its end. It has at least one bit here.
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

  private func words(_ address: IPAddress) -> [UInt32] {
    switch address {
    case .v4(let bits): [bits]
    case .v6(let bits): (0..<4).map { UInt32(truncatingIfNeeded: bits >> UInt128(96 - 32 * $0)) }
    }
  }
}
