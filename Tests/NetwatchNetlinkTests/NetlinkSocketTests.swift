import CLibNetlink
import Glibc
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

@Suite struct NetlinkSocketTests {
  /// A message of another process must not be taken for a message of the kernel, whoever sends it.
  @Test func `only the kernel is listened to`() throws {
    let socket = try NetlinkSocket()
    var address = sockaddr_nl()
    var length = socklen_t(MemoryLayout<sockaddr_nl>.size)
    let found = unsafe withUnsafeMutablePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(socket.descriptor, $0, &length) }
    }
    try #require(found == 0)
    let stranger = Glibc.socket(AF_NETLINK, CInt(SOCK_RAW.rawValue), NETLINK_ROUTE)
    defer { close(stranger) }
    let message = MessageBuilder.link(7)
    let sent = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe sendto(stranger, message, message.count, 0, $0, length)
      }
    }
    let error = errno
    #expect(sent < 0)
    // If the process may not send to other processes at all, the kernel reports that error instead.
    #expect(error == ECONNREFUSED || error == EPERM)
    try socket.makeNonBlocking()
    guard case .wouldBlock = try socket.receive() else {
      Issue.record("something was received")
      return
    }
  }
}
