import CLibNetlink
import Glibc
import NetwatchEventLoop
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// The sockets of nl80211 on the machine as it is. It may have radios, but usually it has no nl80211.
@Suite struct WirelessSocketTests {
  @Test func `a link that is not wireless has no answers, and no errors`() throws {
    let queries = try WirelessQueries()
    let noLink = Int32(1) << 30
    for _ in 0..<1000 {
      for index in [1, 0, -1, .min, .max, noLink] {
        #expect(try queries.link(index) == nil)
        #expect(try queries.connection(index, hasFrequency: true) == nil)
      }
    }
  }

  @Test func `nl80211 can be looked for at any time`() throws {
    let queries = try WirelessQueries()
    for _ in 0..<100 {
      #expect(try (queries.findFamily() != nil) == queries.isAvailable)
    }
    // cfg80211 makes this folder before it registers nl80211. If sysfs is hidden, nothing can be concluded.
    if unsafe access("/sys/class/ieee80211", F_OK) == 0 { #expect(queries.isAvailable) }
  }

  @Test func `events are there to be waited for, with nl80211 or without`() throws {
    let queries = try WirelessQueries()
    let events = try WirelessEvents(queries)
    #expect(fcntl(events.descriptor, F_GETFL) & O_NONBLOCK != 0)
    _ = try events.read { index, _ in #expect(index > 0) }
  }

  @Test func `the kernel takes the filter`() throws {
    let socket = try NetlinkSocket(protocol: NETLINK_GENERIC)
    #expect(socket.attach(WirelessEvents.filter))
    #expect(throws: SystemError.netlink("setsockopt(NETLINK_ADD_MEMBERSHIP)", EINVAL)) {
      try socket.join(group: 1 << 24)
    }
  }
}
