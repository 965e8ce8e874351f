import CLibNetlink
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

@Suite struct AddressAndRouteDecodingTests {
  static func address(_ bytes: [UInt8]) -> (index: Int32, address: InterfaceAddress)? {
    guard case .event(.address(let index, let address)) = Decoding.messages(bytes).first else { return nil }
    return (index, address)
  }

  @Test(arguments: [
    (Corpus.addressV4, "10.0.0.1", UInt8(24), UInt32(0)), (Corpus.addressV6, "2001:db8:1::5", 64, 0),
    (Corpus.addressDeprecated, "2001:db8:1::5", 64, InterfaceAddress.deprecatedFlag),
    (Corpus.addressTentative, "2001:db8:2::5", 64, InterfaceAddress.tentativeFlag),
  ])
  func `addresses`(_ bytes: [UInt8], _ text: String, _ prefixLength: UInt8, _ flags: UInt32) throws {
    let (index, address) = try #require(Self.address(bytes))
    #expect(index == 3)
    #expect(address.address == .ip(text))
    #expect(address.prefixLength == prefixLength)
    #expect(address.flags & (InterfaceAddress.relevantFlags | InterfaceAddress.deprecatedFlag) == flags)
  }

  @Test func `removed addresses`() {
    #expect(
      Decoding.messages(Corpus.addressRemovedV4) == [.event(.noAddress(3, .ip("10.0.0.1")))])
    #expect(
      Decoding.messages(Corpus.addressRemovedV6) == [.event(.noAddress(3, .ip("2001:db8:1::5"), 64))])
  }

  @Test func `of a point-to-point link the local address counts, in any order`() throws {
    for isLocalFirst in [true, false] {
      let bytes = MessageBuilder.address(5, prefixLength: 32) {
        if isLocalFirst { $0.attribute(IFA_LOCAL, .ip("10.9.0.1")) }
        $0.attribute(IFA_ADDRESS, .ip("10.9.0.2"))
        if !isLocalFirst { $0.attribute(IFA_LOCAL, .ip("10.9.0.1")) }
      }
      #expect(try #require(Self.address(bytes)).address.address == .ip("10.9.0.1"))
    }
  }

  @Test func `flags beyond the eighth come from their attribute`() throws {
    let bytes = MessageBuilder.address(5, family: AF_INET6, flags: 0x80) {
      $0.attribute(IFA_ADDRESS, .ip("2001:db8::9"))
      $0.attribute(IFA_FLAGS, number: UInt32(0x40 | 0x04 | 0x800))
    }
    #expect(try #require(Self.address(bytes)).address.flags == 0x844)
    let old = MessageBuilder.address(5, family: AF_INET6, flags: 0x40) { $0.attribute(IFA_ADDRESS, .ip("2001:db8::9")) }
    #expect(try #require(Self.address(old)).address.flags == 0x40)
  }

  @Test(arguments: [(UInt32(0), true), (1, false), (.max, false)])
  func `a preferred lifetime of zero is deprecated`(_ preferred: UInt32, _ isDeprecated: Bool) throws {
    let bytes = MessageBuilder.address(5, family: AF_INET6) {
      $0.attribute(IFA_CACHEINFO, MessageBuilder.raw(preferred) + [UInt8](repeating: 0xff, count: 12))
      $0.attribute(IFA_ADDRESS, .ip("2001:db8::9"))
    }
    #expect(try #require(Self.address(bytes)).address.isDeprecated == isDeprecated)
  }

  @Test func `addresses of other families or without an address are ignored`() {
    let others = [
      MessageBuilder.address(5, family: 7) { $0.attribute(IFA_ADDRESS, .ip("10.0.0.1")) },
      MessageBuilder.address(5) { _ in }, MessageBuilder.address(0) { $0.attribute(IFA_LOCAL, .ip("10.0.0.1")) },
      MessageBuilder.address(5, family: AF_INET6) { $0.attribute(IFA_LOCAL, .ip("10.0.0.1")) },
    ]
    for bytes in others { #expect(Decoding.messages(bytes) == [.ignored]) }
  }

  // MARK: Routes

  @Test func `answers with one hop`() {
    #expect(
      Decoding.messages(Corpus.routeAnswerV4, as: .answer) == [
        // A lookup answers with the address itself as the prefix, and an IPv4 answer does not say who wrote the route.
        .route(
          .hop(
            RouteHop(
              interfaceIndex: 3, gateway: .ip("10.0.0.2"), source: .ip("10.0.0.1"), prefixLength: 32, origin: 0)))
      ])
    #expect(
      Decoding.messages(Corpus.routeAnswerV6, as: .answer) == [
        .route(
          .hop(
            RouteHop(
              interfaceIndex: 4, gateway: .ip("2001:db8:9::1"), source: .ip("2001:db8:9::5"), metric: 1024,
              prefixLength: 128)))
      ])
    #expect(Decoding.messages(Corpus.fibMatch, as: .answer) == [.route(.via(3, .ip("10.0.0.2"), from: nil))])
  }

  @Test func `answers with several hops`() {
    #expect(
      Decoding.messages(Corpus.multipathV4, as: .answer) == [
        .route(
          .hops([
            RouteHop(interfaceIndex: 3, gateway: .ip("10.0.0.2")),
            RouteHop(interfaceIndex: 4, gateway: .ip("10.9.0.2")),
          ]))
      ])
    #expect(
      Decoding.messages(Corpus.multipathV6, as: .answer) == [
        .route(
          .hops([
            RouteHop(interfaceIndex: 4, gateway: .ip("2001:db8:9::1"), metric: 1024),
            RouteHop(interfaceIndex: 3, gateway: .ip("2001:db8:1::1"), metric: 1024),
          ]))
      ])
  }

  @Test func `a gateway of the other family`() {
    let bytes = MessageBuilder.route {
      $0.attribute(Int(RTA_OIF.rawValue), number: Int32(3))
      $0.attribute(
        Int(RTA_VIA.rawValue), MessageBuilder.raw(UInt16(AF_INET6)) + InternetAddress.ip("fe80::1").networkOrder)
    }
    #expect(Decoding.messages(bytes, as: .answer) == [.route(.via(3, .ip("fe80::1"), from: nil))])
  }

  @Test(arguments: [
    RTN_BROADCAST, RTN_MULTICAST, RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT, RTN_THROW, RTN_NAT, RTN_UNSPEC,
  ])
  func `only a unicast route leads out`(_ kind: Int) {
    let bytes = MessageBuilder.route(kind: kind) { $0.attribute(Int(RTA_OIF.rawValue), number: Int32(3)) }
    #expect(Decoding.messages(bytes, as: .answer) == [.route(.refused)])
  }

  @Test(arguments: [RTN_LOCAL, RTN_ANYCAST])
  func `an address of this machine is told apart`(_ kind: Int) {
    let bytes = MessageBuilder.route(kind: kind) { $0.attribute(Int(RTA_OIF.rawValue), number: Int32(1)) }
    #expect(Decoding.messages(bytes, as: .answer) == [.route(.own)])
  }

  @Test func `a unicast route without a link leads nowhere`() {
    #expect(Decoding.messages(MessageBuilder.route(), as: .answer) == [.route(.refused)])
  }

  @Test(arguments: [
    (Corpus.errorNoRoute, ENETUNREACH), (Corpus.errorUnreachable, EHOSTUNREACH), (Corpus.errorBlackhole, EINVAL),
    (Corpus.errorProhibit, EACCES),
  ])
  func `errors`(_ bytes: [UInt8], _ code: Int32) {
    #expect(Decoding.kinds(bytes) == [.error(code: code)])
  }

  @Test func `errors of any number do no harm`() {
    for code in [Int32.min, .max, 0, -1, 1] {
      var message = MessageBuilder(type: 2)
      message.append(MessageBuilder.raw(code))
      #expect(Decoding.kinds(message.bytes) == [.error(code: code == .min ? .max : abs(code))])
    }
  }

  // MARK: Hints

  @Test(arguments: [
    (Corpus.routeAddedV4, AddressFamilies.ipv4, false), (Corpus.routeAddedV6, .ipv6, false),
    (Corpus.routeRemovedV4, .ipv4, true), (Corpus.routeRemovedV6, .ipv6, true), (Corpus.nexthopAdded, .ipv4, false),
    (Corpus.nexthopGroup, .both, false), (Corpus.nexthopRemoved, .both, true),
    (Corpus.netconfIgnoringLinkdown, .ipv4, false),
  ])
  func `what can change a lookup is a routing event`(_ bytes: [UInt8], _ families: AddressFamilies, _ isRemoval: Bool) {
    #expect(Decoding.messages(bytes) == [.event(.routing(families, isRemoval: isRemoval))])
  }

  @Test(arguments: [
    (Corpus.ruleAddedV4, AddressFamilies.ipv4, false), (Corpus.ruleAddedV6, .ipv6, false),
    (Corpus.ruleRemovedV4, .ipv4, true),
  ])
  func `a change of the rules is an event of its own`(_ bytes: [UInt8], _ families: AddressFamilies, _ isRemoval: Bool)
  {
    #expect(Decoding.messages(bytes) == [.event(.rules(families, isRemoval: isRemoval))])
  }

  @Test func `messages about other settings are ignored`() {
    #expect(Decoding.messages(Corpus.netconfForwarding) == [.ignored])
    #expect(Decoding.messages(Corpus.netconfRemoved) == [.ignored])
    #expect(Decoding.messages(MessageBuilder.route(family: 28)) == [.ignored])
    #expect(Decoding.messages(MessageBuilder(type: 999).bytes) == [.ignored])
  }

  // MARK: Control

  @Test func `the end of a listing, whole, interrupted and failed`() {
    #expect(Decoding.kinds(Corpus.done) == [.done])
    var interrupted = MessageBuilder(type: 3, flags: Int(NLM_F_DUMP_INTR))
    interrupted.append(MessageBuilder.raw(Int32(0)))
    #expect(Decoding.all(interrupted.bytes).map(\.frame.isInterrupted) == [true])
    var failed = MessageBuilder(type: 3)
    failed.append(MessageBuilder.raw(-EOPNOTSUPP))
    #expect(Decoding.kinds(failed.bytes) == [.error(code: EOPNOTSUPP)])
    #expect(Decoding.kinds(MessageBuilder(type: 4).bytes) == [.overrun])
  }
}
