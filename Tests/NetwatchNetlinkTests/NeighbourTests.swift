import CLibNetlink
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// Messages of the kernel about routers: which are read, and which pass the filter.
@Suite struct NeighbourTests {
  static let states = [
    NUD_NONE, NUD_INCOMPLETE, NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE, NUD_FAILED, NUD_NOARP, NUD_PERMANENT,
  ]

  static func message(_ address: InternetAddress, _ state: Int32, type: Int = RTM_NEWNEIGH) -> [UInt8] {
    var message = MessageBuilder(type: type)
    let family = UInt8(address.family == .ipv4 ? AF_INET : AF_INET6)
    message.append([family, 0, 0, 0] + MessageBuilder.raw(Int32(3)) + MessageBuilder.raw(UInt16(state)) + [0x80, 1])
    message.attribute(NDA_DST, address)
    message.attribute(NDA_LLADDR, [2, 0, 0, 0, 0, 1])
    return message.bytes
  }

  @Test func `a neighbour is dead, there, or unknown`() {
    let router = Neighbour(interfaceIndex: 3, address: .ip("fe80::1"))
    for state in Self.states {
      let expected: NetlinkDecoder.Message =
        switch state {
        case NUD_FAILED: .event(.neighbour(router, isDead: true))
        case NUD_NONE, NUD_INCOMPLETE: .ignored
        default: .event(.neighbour(router, isDead: false))
        }
      #expect(Decoding.messages(Self.message(.ip("fe80::1"), state)) == [expected])
    }
    let forgotten = Decoding.messages(Self.message(.ip("fe80::1"), NUD_FAILED, type: RTM_DELNEIGH))
    #expect(forgotten == [.event(.neighbour(router, isDead: false))])
    let short = Self.message(.ip("fe80::1"), NUD_FAILED)
    for length in 16..<44 {
      var cut = Array(short[..<length])
      cut.replaceSubrange(0..<4, with: MessageBuilder.raw(UInt32(length)))
      #expect(Decoding.messages(cut) == [.ignored])
    }
  }

  @Test func `if every neighbour matters, those pass that are there, and no permanent entry`() {
    let filter = FilterInterpreter(program: RouteFilter.program(watching: [.ip("192.0.2.1")], passesNeighbours: true))
    for address in [InternetAddress.ip("10.0.0.7"), .ip("fe80::7")] {
      for state in Self.states {
        let isThere = [NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE].contains(state)
        #expect(filter.run(Self.message(address, state)).map { $0 > 0 } == isThere)
      }
      #expect(filter.run(Self.message(address, NUD_STALE, type: RTM_DELNEIGH)) == 0)
    }
  }

  @Test func `the end of those in use passes, the return of the dead, and nothing else`() {
    let many = (1...20).map { InternetAddress.ip("fe80::\($0)") }
    let sets: [([InternetAddress], [InternetAddress])] = [
      ([], []), ([.ip("fe80::1")], []), ([], [.ip("fe80::2")]),
      ([.ip("fe80::1"), .ip("2001:db8::7")], [.ip("fe80::2")]),
      (many, many.reversed()),
    ]
    for (inUse, dead) in sets {
      let filter = FilterInterpreter(
        program: RouteFilter.program(watching: [.ip("192.0.2.1")], routersInUse: inUse, otherRouters: dead))
      for address in many + [.ip("2001:db8::7"), .ip("2001:db8::8"), .ip("fe80:0:0:1::1"), .ip("10.0.0.1")] {
        for state in Self.states {
          let isNews =
            switch state {
            case NUD_FAILED: inUse.contains(address)
            case NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE, NUD_PERMANENT: dead.contains(address)
            default: false
            }
          let passed = filter.run(Self.message(address, state)).map { $0 > 0 }
          #expect(passed == isNews, "\(address) \(state) \(inUse) \(dead)")
        }
        let isForgotten = filter.run(Self.message(address, NUD_FAILED, type: RTM_DELNEIGH)).map { $0 > 0 }
        #expect(isForgotten == dead.contains(address))
      }
      #expect(filter.run(Corpus.vethUp).map { $0 > 0 } == true)
    }
  }

  @Test func `of the neighbours of a network, the routers pass`() {
    let routers = ["10.0.0.1", "fe80::1", "2001:db8::7"].map { Neighbour(interfaceIndex: 3, address: .ip($0)) }
    let filter = FilterInterpreter(program: NeighbourFilter.program(passing: routers))
    let none = FilterInterpreter(program: NeighbourFilter.program(passing: []))
    let others: [InternetAddress] = [.ip("10.0.0.2"), .ip("fe80::2"), .ip("2001:db8::8"), .ip("0.0.0.7")]
    for type in [RTM_NEWNEIGH, RTM_DELNEIGH] {
      for state in Self.states {
        for router in routers {
          #expect(filter.run(Self.message(router.address, state, type: type)).map { $0 > 0 } == true)
          #expect(none.run(Self.message(router.address, state, type: type)) == 0)
        }
        for other in others { #expect(filter.run(Self.message(other, state, type: type)) == 0) }
      }
    }
  }

  @Test func `the state of a neighbour is read, however long the message`() {
    let router = Neighbour(interfaceIndex: 3, address: .ip("10.0.0.1"))
    let expected: [Int32: NeighbourState] = [
      NUD_NONE: .absent, NUD_INCOMPLETE: .incomplete, NUD_REACHABLE: .reachable, NUD_STALE: .stale, NUD_DELAY: .stale,
      NUD_PROBE: .stale, NUD_FAILED: .failed, NUD_NOARP: .permanent, NUD_PERMANENT: .permanent,
    ]
    for (number, state) in expected {
      let message = Self.message(router.address, number)
      for length in 16...message.count {
        let read = unsafe NetlinkDecoder.neighbourState(message.span.bytes, 16..<length)
        // The message can be cut off anywhere after the address.
        #expect((read?.0 == router && read?.1 == state) == (length >= 36), "\(length)")
      }
    }
  }

  @Test func `next-hop objects and groups are read`() {
    func object(_ family: Int32, _ fill: (inout MessageBuilder) -> Void) -> [NetlinkDecoder.Message] {
      var message = MessageBuilder(type: RTM_NEWNEXTHOP)
      message.append([UInt8(family), 0, 0, 0] + MessageBuilder.raw(UInt32(0)))
      message.attribute(NHA_ID, number: UInt32(1))
      fill(&message)
      return Decoding.messages(message.bytes, as: .answer)
    }
    var expected = NextHopObject()
    expected.interfaceIndex = 3
    expected.gateway = .ip("10.0.0.2")
    #expect(
      object(AF_INET) {
        $0.attribute(NHA_OIF, number: Int32(3))
        $0.attribute(NHA_GATEWAY, .ip("10.0.0.2"))
      } == [.nextHop(expected)])
    expected = NextHopObject()
    expected.members = [7, 9]
    let group: [UInt8] = [7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]
    #expect(object(AF_UNSPEC) { $0.attribute(NHA_GROUP, group) } == [.nextHop(expected)])
    // A member that is cut off does not count.
    #expect(object(AF_UNSPEC) { $0.attribute(NHA_GROUP, group + [1, 0, 0, 0]) } == [.nextHop(expected)])
    #expect(object(AF_UNSPEC) { $0.attribute(NHA_GROUP, [1]) } == [.nextHop(NextHopObject())])
    expected = NextHopObject()
    expected.isBlackhole = true
    #expect(object(AF_INET) { $0.attribute(NHA_BLACKHOLE, []) } == [.nextHop(expected)])
  }

  @Test func `a route over a next-hop object, and its lifetime`() {
    let bytes = MessageBuilder.route(family: AF_INET6) {
      $0.attribute(Int(RTA_NH_ID.rawValue), number: UInt32(10))
      $0.attribute(Int(RTA_PRIORITY.rawValue), number: UInt32(1024))
      $0.attribute(Int(RTA_CACHEINFO.rawValue), MessageBuilder.raw(UInt64(0)) + MessageBuilder.raw(UInt32(250)))
    }
    var hop = RouteHop(interfaceIndex: 0, metric: 1024)
    hop.lifetime = 250
    #expect(Decoding.messages(bytes, as: .answer) == [.routeOverNextHop(10, hop)])
    for (ticks, lifetime) in [(Int32(-5), UInt32(0)), (.min, 0), (.max, UInt32(Int32.max))] {
      let bytes = MessageBuilder.route(family: AF_INET6) {
        $0.attribute(Int(RTA_OIF.rawValue), number: Int32(3))
        $0.attribute(Int(RTA_CACHEINFO.rawValue), MessageBuilder.raw(UInt64(0)) + MessageBuilder.raw(ticks))
      }
      guard case .route(.hop(let hop)) = Decoding.messages(bytes, as: .answer).first else {
        Issue.record("no hop")
        continue
      }
      #expect(hop.lifetime == lifetime)
    }
  }
}
