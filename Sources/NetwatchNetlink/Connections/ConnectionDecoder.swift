import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchLibC

/// Decodes the sock_diag messages about TCP and UDP sockets, in place and without allocating.
///
/// A message that is too short, or that gives a wrong length, is left out.
enum ConnectionDecoder {
  enum Message: Hashable {
    case connection(Connection)
    /// The kernel has destroyed the connection; this is its last message about it. The stage has no meaning.
    case ended(Connection)
    /// A program listens on this port.
    case listener(port: UInt16)
    case ignored
  }

  /// A connection and its two ends. An IPv4 address that is mapped into IPv6 counts as IPv4.
  struct Connection: Hashable {
    var facts: ConnectionFacts
    let localPort: UInt16
    let remotePort: UInt16
    let local: InternetAddress
    let remote: InternetAddress

    /// Whether the connection stays within this machine.
    var isLocal: Bool { remote.isLoopback || local == remote }
  }

  /// struct inet_diag_msg: family, state, timer, retransmits, ports (2, 2), source (16), destination (16), link (4),
  /// cookie (8), expiry (4), receive queue (4), write queue (4), user (4), inode (4).
  private static let familyOffset = 0
  private static let stateOffset = 1
  private static let timerOffset = 2
  private static let retransmitsOffset = 3
  private static let localPortOffset = 4
  private static let remotePortOffset = 6
  private static let localOffset = 8
  private static let remoteOffset = 24
  private static let cookieOffset = 44
  private static let expiryOffset = 52
  private static let queuedOffset = 60
  private static let userOffset = 64
  private static let inodeOffset = 68
  private static let messageLength = 72

  /// Returns a log that prints each message of a socket, if the environment asks for it.
  static func log(_ source: String) -> NetlinkDebugLog? { NetlinkDebugLog(source) { "\(message($0, $1))" } }

  static func message(_ frame: NetlinkMessage, _ bytes: RawSpan) -> Message {
    // The entries of a list have the type of the request, which is the older one. Messages to a group have the newer one.
    let isEnd = CInt(frame.type) == SOCK_DIAG_BY_FAMILY
    guard isEnd || CInt(frame.type) == TCPDIAG_GETSOCK, frame.payload.count >= messageLength else { return .ignored }
    let start = frame.payload.lowerBound
    let state = bytes.load(start + stateOffset, as: UInt8.self)
    if Int(state) == TCP_LISTEN { return .listener(port: port(bytes, start + localPortOffset)) }
    guard let stage = isEnd ? .ending : stage(state), var connection = connection(bytes, start, stage) else {
      return .ignored
    }
    connection.facts.queued = bytes.load(start + queuedOffset, as: UInt32.self)
    // The end of our data takes the place of one byte.
    if hasEnded(state), connection.facts.queued > 0 { connection.facts.queued -= 1 }
    if stage == .connecting { connection.facts.attemptAge = attemptAge(bytes, start) }
    if let value = bytes.attribute(Int(INET_DIAG_INFO), in: (start + messageLength)..<frame.payload.upperBound) {
      readInfo(bytes, value, into: &connection.facts)
      readPayload(bytes, value, state: isEnd ? nil : state, into: &connection.facts)
    }
    return isEnd ? .ended(connection) : .connection(connection)
  }

  /// Decodes a UDP socket. Nil if the message is not about one.
  static func datagramSocket(_ frame: NetlinkMessage, _ bytes: RawSpan) -> Connection? {
    guard CInt(frame.type) == SOCK_DIAG_BY_FAMILY, frame.payload.count >= messageLength else { return nil }
    return connection(bytes, frame.payload.lowerBound, .open)
  }

  /// Decodes the two ends of a connection, its user and its inode.
  private static func connection(_ bytes: RawSpan, _ start: Int, _ stage: ConnectionFacts.Stage) -> Connection? {
    let family = bytes.load(start + familyOffset, as: UInt8.self)
    guard let local = address(bytes, start + localOffset, family),
      let remote = address(bytes, start + remoteOffset, family)
    else { return nil }
    var facts = ConnectionFacts(cookie: bytes.load(start + cookieOffset, as: UInt64.self), stage: stage)
    facts.inode = bytes.load(start + inodeOffset, as: UInt32.self)
    facts.user = bytes.load(start + userOffset, as: UInt32.self)
    return Connection(
      facts: facts, localPort: port(bytes, start + localPortOffset), remotePort: port(bytes, start + remotePortOffset),
      local: local, remote: remote)
  }

  private static func port(_ bytes: RawSpan, _ offset: Int) -> UInt16 {
    UInt16(bigEndian: bytes.load(offset, as: UInt16.self))
  }

  private static func stage(_ state: UInt8) -> ConnectionFacts.Stage? {
    switch Int(state) {
    case TCP_SYN_SENT: .connecting
    case TCP_ESTABLISHED: .open
    case TCP_FIN_WAIT2: .halfClosed
    case TCP_FIN_WAIT1, TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_CLOSING: .ending
    default: nil
    }
  }

  private static func hasEnded(_ state: UInt8) -> Bool {
    switch Int(state) {
    case TCP_FIN_WAIT1, TCP_LAST_ACK, TCP_CLOSING: true
    default: false
    }
  }

  /// The kernel's number of the timer that retransmits unacknowledged data.
  private static let retransmissionTimer = 1

  /// Returns the time since the first attempt to connect, in nanoseconds. The first attempts are one second apart, and a timer
  /// runs until the next one.
  private static func attemptAge(_ bytes: RawSpan, _ start: Int) -> Int64 {
    guard Int(bytes.load(start + timerOffset, as: UInt8.self)) == retransmissionTimer else { return 0 }
    let attempts = Int64(bytes.load(start + retransmitsOffset, as: UInt8.self)) + 1
    let left = Int64(bytes.load(start + expiryOffset, as: UInt32.self))
    return max(0, attempts * 1_000 - left) * 1_000_000
  }

  private static func address(_ bytes: RawSpan, _ offset: Int, _ family: UInt8) -> InternetAddress? {
    switch CInt(family) {
    case AF_INET: return .v4(UInt32(bigEndian: bytes.load(offset, as: UInt32.self)))
    case AF_INET6:
      let bits = UInt128(bigEndian: bytes.load(offset, as: UInt128.self))
      // ::ffff:0:0/96, IPv4 mapped into IPv6.
      return bits >> 32 == 0xffff ? .v4(UInt32(truncatingIfNeeded: bits)) : .v6(bits)
    default: return nil
    }
  }

  /// Reads struct tcp_info; older kernels have fewer fields.
  private static func readInfo(_ bytes: RawSpan, _ info: Range<Int>, into facts: inout ConnectionFacts) {
    func number(_ offset: Int) -> UInt32 {
      info.count >= offset + 4 ? bytes.load(info.lowerBound + offset, as: UInt32.self) : 0
    }
    func age(_ offset: Int) -> Int64 { Int64(number(offset)) * 1_000_000 }
    func count(_ offset: Int) -> UInt64? {
      info.count >= offset + 8 ? bytes.load(info.lowerBound + offset, as: UInt64.self) : nil
    }
    facts.sentAge = age(44)
    facts.receivedAge = age(52)
    facts.heardAge = age(56)
    facts.roundTripTime = number(68)
    facts.segmentsRepeated = number(100)
    facts.segmentsSent = number(156)
    facts.segmentsDuplicated = number(216)
    facts.bytesAcknowledged = count(120) ?? 0
    facts.bytesReceived = count(128) ?? 0
    facts.busyTime = count(168).map { Int64(clamping: min($0, 1 << 40) * 1_000) } ?? 0
    // Before Linux 4.19 this field is missing. The beginning of a connection counts as an acknowledged byte.
    facts.bytesSent = count(200) ?? (facts.bytesAcknowledged &- min(facts.bytesAcknowledged, 1)) &+ UInt64(facts.queued)
  }

  /// Calculates the bytes that programs have sent and received, exactly.
  ///
  /// Acknowledged bytes include our FIN, and the SYN of the side that connects but not of the side that accepts. Sent bytes
  /// without the retransmitted ones include neither. Received bytes include the FIN of the other side.
  ///
  /// - Parameter state: The state; nil if the connection has ended. Then it is not known whether the other side's FIN has come.
  ///   It is assumed if ours was acknowledged, although a program that closes first may have gone before it came. So the count
  ///   can be one byte too low.
  private static func readPayload(
    _ bytes: RawSpan, _ info: Range<Int>, state: UInt8?, into facts: inout ConnectionFacts
  ) {
    var finReceived = facts.bytesAcknowledged > 1
    if info.count >= 216 {
      let repeated = bytes.load(info.lowerBound + 208, as: UInt64.self)
      facts.payloadSent = facts.bytesSent - min(facts.bytesSent, repeated)
      finReceived = facts.bytesAcknowledged > facts.payloadSent
    } else {
      // Before Linux 4.19: calculated as if this side had connected.
      let added: UInt64 = state == nil ? 2 : 1
      facts.payloadSent = facts.bytesAcknowledged - min(facts.bytesAcknowledged, added)
    }
    if let state {
      finReceived = [TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_CLOSING].contains(Int(state))
    }
    facts.payloadReceived = facts.bytesReceived - (finReceived ? min(facts.bytesReceived, 1) : 0)
  }
}
