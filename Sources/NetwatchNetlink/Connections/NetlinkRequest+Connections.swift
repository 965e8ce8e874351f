import CLibNetlink
import NetlinkWire
import NetwatchEventLoop
import NetwatchLibC

/// The requests for TCP and UDP sockets. The kernel does not examine the sockets that a request leaves out.
extension NetlinkRequest {
  /// Makes the request for every TCP connection of both families, with its ages, and for the sockets that listen. It is the
  /// older one of the kernel's two requests, because the newer one would need one pass for each family.
  static func connections() throws(SystemError) -> NetlinkRequest {
    try unsafe build(Int(TCPDIAG_GETSOCK), flags: NLM_F_DUMP) { message in
      var request = inet_diag_req()
      request.idiag_ext = 1 << UInt8(INET_DIAG_INFO - 1)
      request.idiag_states = connectionStates
      var filter = exceptLoopback
      return unsafe append(request, to: message)
        && nla_put(message, CInt(INET_DIAG_REQ_BYTECODE), CInt(filter.count), &filter) == 0
    }
  }

  /// Makes the request for every UDP socket of one family that is connected to one other end.
  static func connectedDatagramSockets(_ family: CInt) throws(SystemError) -> NetlinkRequest {
    try unsafe build(Int(SOCK_DIAG_BY_FAMILY), flags: NLM_F_DUMP) { message in
      var request = inet_diag_req_v2()
      request.sdiag_family = UInt8(family)
      request.sdiag_protocol = UInt8(IPPROTO_UDP)
      request.idiag_states = 1 << UInt32(TCP_ESTABLISHED)
      return unsafe append(request, to: message)
    }
  }

  /// The states to list: not closed sockets, which have no program and no ages, and not sockets that have not been accepted
  /// yet.
  private static let connectionStates: UInt32 = [
    TCP_ESTABLISHED, TCP_SYN_SENT, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_LISTEN, TCP_CLOSING,
  ].reduce(0) { $0 | 1 << UInt32($1) }

  /// The bytecode that passes connections except those to 127/8, ::ffff:127.0.0.0/104 or ::1.
  static var exceptLoopback: [UInt8] {
    // A condition for IPv4 also covers IPv4 mapped into IPv6.
    let ranges = [
      condition(AF_INET, [127, 0, 0, 0], prefixLength: 8),
      condition(AF_INET6, [UInt8](repeating: 0, count: 15) + [1], prefixLength: 128),
    ]
    // Each condition is followed by a jump past the end, which refuses. If the condition does not hold, that jump is skipped.
    var program: [UInt8] = []
    for range in ranges.reversed() {
      let refusal = operation(INET_DIAG_BC_JMP, yes: jumpLength, no: jumpLength + program.count + 4)
      let length = jumpLength + range.count
      program = operation(INET_DIAG_BC_D_COND, yes: length, no: length + jumpLength) + range + refusal + program
    }
    return program
  }

  /// struct inet_diag_bc_op: code, offset to the next operation if it holds, offset if it does not (2).
  private static let jumpLength = 4

  private static func operation(_ code: Int, yes: Int, no: Int) -> [UInt8] {
    [UInt8(code), UInt8(yes)] + bytes(UInt16(no))
  }

  /// struct inet_diag_hostcond: family, length of the prefix, padding (2), port (4; -1 means any), address.
  private static func condition(_ family: CInt, _ address: [UInt8], prefixLength: UInt8) -> [UInt8] {
    [UInt8(family), prefixLength, 0, 0] + bytes(Int32(-1)) + address
  }

  private static func bytes<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
    unsafe withUnsafeBytes(of: value) { unsafe [UInt8]($0) }
  }
}
