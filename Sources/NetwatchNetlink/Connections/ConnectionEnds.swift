import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Receives each TCP connection of this network namespace when the kernel destroys it. Needs no privilege.
///
/// As long as this object exists, the kernel builds a message for every TCP socket that closes on the machine.
final class ConnectionEnds {
  private static let groups = [SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY]
  /// The size of the receive buffer: room for about six thousand messages, if net.core.rmem_max allows it.
  private static let wantedBuffer = 4 << 20
  /// The bytes that one message takes in the receive buffer.
  private static let messageCost = 1_280
  /// The most messages that are read in one turn. More are left for the next turn, so that the loop can do other work.
  private static let mostAtOnce = 100_000

  /// The number of messages that fit into the receive buffer.
  let capacity: Int
  private let socket: NetlinkSocket

  /// The descriptor; readable when an end was reported.
  var descriptor: CInt { socket.descriptor }

  init() throws(SystemError) {
    socket = try NetlinkSocket(
      .event, of: .kernel, protocol: NETLINK_SOCK_DIAG, log: ConnectionDecoder.log("tcp end"))
    try socket.makeNonBlocking()
    socket.setReceiveBuffer(bytes: Self.wantedBuffer)
    capacity = max((socket.receiveBuffer ?? 0) / Self.messageCost, 1)
    _ = socket.attach(Self.exceptLoopback)
    for group in Self.groups { try socket.join(group: Int32(group.rawValue)) }
  }

  /// Reads the ends that were reported since the last call.
  ///
  /// - Parameters:
  ///   - overrun: The closure that is called when ends were lost.
  ///   - body: The closure that gets each connection that left this machine.
  /// - Returns: The number of messages.
  func read(
    overrun: () -> Void, _ body: (ConnectionDecoder.Connection) -> Void
  ) throws(SystemError) -> Int {
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

  /// A filter that drops connections to 127/8, ::ffff:127.0.0.0/104 and ::1, because a machine may have more of those than of
  /// all others.
  static var exceptLoopback: [sock_filter] {
    // The netlink header has 16 bytes. The family follows, and at 24 bytes from there the address of the other end.
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
