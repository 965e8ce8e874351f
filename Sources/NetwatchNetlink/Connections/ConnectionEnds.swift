import CLibNetlink
import Glibc
import Netwatch

/// Hears of each TCP connection of this network namespace when the kernel destroys it. Needs no privilege.
///
/// As long as this exists, the kernel builds a message for every TCP socket that closes on the machine.
final class ConnectionEnds {
  private static let groups = [SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY]
  /// Room for some six thousand messages, if net.core.rmem_max allows it.
  private static let wantedBuffer = 4 << 20
  /// What a message takes of the receive buffer.
  private static let messageCost = 1_280
  /// More are left for the next time, so that the loop has a turn.
  private static let mostAtOnce = 100_000

  /// How many messages have room.
  let capacity: Int
  private let socket: NetlinkSocket

  /// Readable when an end was told.
  var descriptor: CInt { socket.descriptor }

  init() throws(NetlinkError) {
    socket = try NetlinkSocket(
      .event, of: .kernel, protocol: NETLINK_SOCK_DIAG, log: ConnectionDecoder.log("tcp end"))
    try socket.makeNonBlocking()
    socket.setReceiveBuffer(bytes: Self.wantedBuffer)
    capacity = max((socket.receiveBuffer ?? 0) / Self.messageCost, 1)
    _ = socket.attach(Self.exceptLoopback)
    for group in Self.groups { try socket.join(group: Int32(group.rawValue)) }
  }

  /// Reads what has been told since the last time.
  ///
  /// - Parameters:
  ///   - overrun: is called when ends were lost.
  ///   - body: is called with each connection that led away from this machine.
  /// - Returns: how many messages there were.
  func read(
    overrun: () -> Void, _ body: (ConnectionDecoder.Connection) -> Void
  ) throws(NetlinkError) -> Int {
    var count = 0
    while count < Self.mostAtOnce {
      let hasMore = try socket.readFrames { frame, bytes in
        if frame.kind == .overrun { overrun() }
        if case .ended(let connection) = ConnectionDecoder.message(frame, bytes), !connection.isLocal {
          body(connection)
        }
      }
      guard hasMore else { break }
      count += 1
    }
    return count
  }

  private enum Label { case ipv4, ipv6, mapped, accept, refuse }

  /// Lets pass what did not lead to 127/8, ::ffff:127.0.0.0/104 or ::1: a machine may have more of those than of all others.
  static var exceptLoopback: [sock_filter] {
    // The header of netlink has 16 bytes; then come the family, and in 24 bytes the address of the other end.
    let (family, remote): (UInt32, UInt32) = (16, 40)
    var program = FilterAssembler<Label>()
    program.load(byte: family)
    program.jump(ifEqual: UInt32(AF_INET), to: .ipv4)
    program.jump(ifEqual: UInt32(AF_INET6), to: .ipv6, else: .accept)
    program.mark(.ipv4)
    program.load(byte: remote)
    program.jump(ifEqual: 127, to: .refuse, else: .accept)
    program.mark(.ipv6)
    for word in [remote, remote + 4] {
      program.load(word: word)
      program.jump(ifGreater: 0, to: .accept)
    }
    program.load(word: remote + 8)
    program.jump(ifEqual: 0xffff, to: .mapped)
    program.jump(ifGreater: 0, to: .accept)
    program.load(word: remote + 12)
    program.jump(ifEqual: 1, to: .refuse, else: .accept)
    program.mark(.mapped)
    program.load(byte: remote + 12)
    program.jump(ifEqual: 127, to: .refuse)
    program.mark(.accept)
    program.finish(accepting: .max)
    program.mark(.refuse)
    program.finish(accepting: 0)
    return program.assemble()
  }
}
