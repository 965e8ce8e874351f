import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct ResyncTests {
  @Test func `an overrun leads to one listing, once everything is read`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.handle(.overrun)
    kernel.handle(.overrun)
    #expect(kernel.outputs.isEmpty)
    kernel.handle(.drained)
    #expect(kernel.listings == 1)
    #expect(kernel.machine.statistics.overruns == 2)
    #expect(kernel.machine.statistics.listings == 2)
    kernel.forget()
    kernel.handle(.drained)
    #expect(kernel.outputs.isEmpty)
  }

  @Test func `an overrun that hid nothing publishes nothing`() {
    var kernel = ScriptedKernel.onlineTwice()
    kernel.forget()
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.story == [])
    // The rules are also asked for, because a message about them may have been lost.
    #expect(kernel.lookUps == [.ipv4, .ipv6, .beneath(.ipv4, .rules)])
  }

  @Test func `when a route goes, the DNS root server is asked for too`() {
    var kernel = ScriptedKernel.onlineTwice()
    kernel.forget()
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.lookUps == [.ipv4])
    kernel.answers[.ipv4] = .noRoute
    kernel.answers[.ipv6] = .noRoute
    kernel.forget()
    kernel.tell(.routing(.both, isRemoval: true))
    let source = RouteRequest(.ipv6, .from(.ip("2001:db8:1::1")))
    // At last, whether other machines are known, because the network may still be a local one.
    let neighbours = RouteRequest.beneath(.ipv4, .neighbours)
    #expect(kernel.lookUps == [.ipv4, .ipv6, .ipv4Last, .ipv6Last, .beneath(.ipv6, .rules), source, neighbours])
    #expect(kernel.story == ["not-reachable no_route -"])
    // If a default route comes back, one question is enough.
    kernel.answers[.ipv4] = ScriptedKernel.over(2)
    kernel.forget()
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.lookUps == [.ipv4])
    #expect(kernel.story == ["wifi route_up eth0"])
  }

  @Test func `paths before and after a listing that found nothing are equal`() {
    var kernel = ScriptedKernel.online()
    let before = kernel.published.last?.interfaces
    kernel.handle(.overrun)
    kernel.handle(.drained)
    kernel.tell(.link(9, "eth9"))
    kernel.tell(.linkRemoved(index: 9))
    #expect(kernel.published.last?.interfaces == before)
  }

  @Test func `a loss that an overrun hid names its cause`() {
    var kernel = ScriptedKernel.online()
    kernel.facts[1] = .link(2, "eth0", .noCarrier)
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }

  @Test func `links and addresses that are gone are found missing`() {
    var kernel = ScriptedKernel.online()
    kernel.tell(.link(7, "eth7"), .address(7, .ip("10.7.0.1")), .address(2, .ip("10.0.0.9")))
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.machine.evaluator.snapshot.interfaces.map(\.index) == [1, 2])
    #expect(kernel.machine.evaluator.snapshot.interface(2)?.addresses.map(\.address) == [.ip("10.0.0.1")])
    #expect(kernel.story.last == "wifi interfaces eth0")
  }

  @Test(arguments: [(ReachabilityMachine.Input.overrun, "resynced"), (.resumed, "resumed")])
  func `a change that a listing found says so`(_ event: ReachabilityMachine.Input, _ reason: String) {
    var kernel = ScriptedKernel.online()
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.253"), from: .ip("10.0.0.1"))
    kernel.handle(event)
    kernel.handle(.drained)
    #expect(kernel.story.last == "wifi \(reason) eth0")
    // The change after that has an ordinary reason.
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.252"), from: .ip("10.0.0.1"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "wifi address_changed eth0")
  }

  @Test func `resumes are counted`() {
    var kernel = ScriptedKernel.online()
    kernel.handle(.resumed)
    kernel.handle(.drained)
    #expect(kernel.machine.statistics.resumes == 1)
  }

  @Test func `interrupted listings are repeated at once, then by a timer, and nothing is published meanwhile`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.facts = [.loopback]
    kernel.answers[.ipv4] = .noRoute
    kernel.interruptions = 30
    kernel.handle(.overrun)
    kernel.handle(.drained)
    let atOnce = kernel.listings
    #expect((2...20).contains(atOnce))
    #expect(kernel.timers.keys.contains(.retry))
    #expect(kernel.story == [])
    kernel.advance(by: .milliseconds(99))
    #expect(kernel.listings == atOnce)
    kernel.advance(by: .milliseconds(1))
    #expect(kernel.listings == atOnce + 1)
    kernel.advance(by: .seconds(60))
    #expect(kernel.listings == 31)
    #expect(kernel.story == ["not-reachable link_down -"])
    #expect(kernel.timers.isEmpty)
    #expect(kernel.machine.statistics.interruptedListings == 30)
  }

  @Test func `facts between interrupted listings are kept`() {
    var kernel = ScriptedKernel.online()
    kernel.interruptions = 10
    kernel.handle(.overrun)
    kernel.handle(.drained)
    kernel.facts.append(.link(3, "eth1"))
    kernel.tell(.link(3, "eth1"))
    #expect(kernel.story == ["wifi initial eth0"])
    kernel.advance(by: .seconds(1))
    #expect(kernel.published.last?.interfaces.map(\.index) == [1, 2, 3])
  }

  @Test func `one refused listing is repeated and not told`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.refusedListings = 1
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.story == [])
    #expect(kernel.machine.statistics.listings == 2)
  }

  @Test func `a status that nobody can vouch for becomes unknown, and comes back`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.refusedListings = 40
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.story == ["unknown unresolved -"])
    kernel.advance(by: .seconds(1))
    #expect(kernel.story == ["unknown unresolved -"])
    kernel.advance(by: .seconds(60))
    #expect(kernel.story == ["unknown unresolved -", "wifi resynced eth0"])
    #expect(kernel.timers.isEmpty)
  }

  @Test func `a refused lookup leads to a listing and a new lookup`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.refusedLookUps = 1
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.listings == 1)
    #expect(kernel.story == ["not-reachable no_route -"])
  }

  @Test func `lookups that are refused for long end in a pause, not in a circle`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.refusedLookUps = 200
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.refusedLookUps > 0)
    #expect(kernel.timers.keys.contains(.retry))
    #expect(kernel.story == ["unknown unresolved -"])
    kernel.advance(by: .seconds(60))
    #expect(kernel.story == ["unknown unresolved -", "wifi resynced eth0"])
  }
}
