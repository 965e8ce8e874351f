import CLibNetlink
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

@Suite struct ConnectionDecodingTests {
  static func messages(_ bytes: [UInt8]) -> [ConnectionDecoder.Message] {
    var messages: [ConnectionDecoder.Message] = []
    unsafe bytes.withUnsafeBytes { raw in
      let bytes = unsafe raw.bytes
      NetlinkMessage.forEach(in: bytes) { frame in
        messages.append(frame.kind == .payload ? ConnectionDecoder.message(frame, bytes) : .ignored)
      }
    }
    return messages
  }

  static func connection(_ bytes: [UInt8]) -> ConnectionDecoder.Connection? {
    guard case .connection(let connection) = messages(bytes).first else { return nil }
    return connection
  }

  // MARK: Sockets

  @Test func `who listens is told by his port`() {
    #expect(Self.messages(ConnectionCorpus.listener) == [.listener(port: 8080)])
    #expect(Self.messages(ConnectionCorpus.listenerBoth) == [.listener(port: 8081)])
  }

  @Test func `a connection has ends, ages and bytes`() throws {
    let connection = try #require(Self.connection(ConnectionCorpus.waiting))
    #expect(connection.local == InternetAddress("10.0.0.1") && connection.remote == InternetAddress("10.0.0.2"))
    #expect((connection.localPort, connection.remotePort) == (44124, 80))
    let facts = connection.facts
    #expect((facts.stage, facts.isAccepted, facts.queued) == (.open, false, 0))
    #expect((facts.bytesSent, facts.bytesReceived, facts.bytesAcknowledged) == (34, 0, 35))
    #expect((facts.sentAge, facts.receivedAge) == (1_040_000_000, 1_040_000_000))
    #expect(facts.cookie == 0x3b2d && facts.inode == 0x627b9b)
    #expect(facts.isWaiting && !connection.isLocal)
    #expect((facts.roundTripTime, facts.segmentsSent) == (21, 1))
    #expect((facts.segmentsRepeated, facts.segmentsDuplicated) == (0, 0))
  }

  @Test func `IPv4 in IPv6 is IPv4, and a drip is young`() throws {
    let connection = try #require(Self.connection(ConnectionCorpus.dripping))
    #expect(connection.local == InternetAddress("10.0.0.1") && connection.remote == InternetAddress("10.0.0.2"))
    #expect(connection.facts.receivedAge < 100_000_000 && connection.facts.bytesReceived == 124)
    #expect(!connection.facts.isWaiting)
  }

  @Test func `IPv6, and an answer that has come`() throws {
    let connection = try #require(Self.connection(ConnectionCorpus.answered))
    #expect(connection.local == InternetAddress("fd00::1") && connection.remote == InternetAddress("fd00::2"))
    #expect(!connection.facts.isWaiting)
    #expect(connection.facts.idleAge ?? 0 > 900_000_000)
  }

  @Test func `a connection that is being made has the age of its attempt`() throws {
    let facts = try #require(Self.connection(ConnectionCorpus.connecting)).facts
    #expect(facts.stage == .connecting)
    #expect(facts.attemptAge == 1_024_000_000)
  }

  @Test func `a half-closed connection still waits, one that has sent nothing does not`() throws {
    let halfClosed = try #require(Self.connection(ConnectionCorpus.halfClosed)).facts
    #expect(halfClosed.stage == .halfClosed && halfClosed.isWaiting)
    let silent = try #require(Self.connection(ConnectionCorpus.silent)).facts
    #expect(!silent.isWaiting && silent.idleAge == nil)
  }

  @Test func `what leads to this machine's own address does not leave it`() throws {
    #expect(try #require(Self.connection(ConnectionCorpus.toOneself)).isLocal)
  }

  @Test(arguments: [TCP_FIN_WAIT1, TCP_LAST_ACK, TCP_CLOSING, TCP_CLOSE_WAIT])
  func `the FIN in the send queue is not counted as a byte`(state: Int) throws {
    var bytes = ConnectionCorpus.waiting
    bytes[17] = UInt8(state)
    for queued in [UInt32(0), 1, 500] {
      bytes.replaceSubrange(76..<80, with: MessageBuilder.raw(queued))
      let facts = try #require(Self.connection(bytes)).facts
      #expect(facts.stage == .ending)
      #expect(facts.queued == (state == TCP_CLOSE_WAIT ? queued : queued - min(queued, 1)))
    }
  }

  @Test func `what was sent, sent again and came twice is counted`() throws {
    var info = Array(ConnectionCorpus.info(of: ConnectionCorpus.waiting))
    // The offsets of tcpi_rtt, tcpi_total_retrans, tcpi_data_segs_out and tcpi_dsack_dups in struct tcp_info of
    // <linux/tcp.h>.
    for (offset, value) in [(68, 23_456), (100, 3), (156, 4_000), (216, 2)] {
      info.replaceSubrange(offset..<offset + 4, with: MessageBuilder.raw(UInt32(value)))
    }
    for length in [info.count, 216, 120] {
      var bytes = Array(ConnectionCorpus.waiting.prefix(16 + 72))
      bytes += MessageBuilder.attribute(Int(INET_DIAG_INFO), Array(info.prefix(length)))
      bytes.replaceSubrange(0..<4, with: MessageBuilder.raw(UInt32(bytes.count)))
      let facts = try #require(Self.connection(bytes)).facts
      #expect((facts.roundTripTime, facts.segmentsRepeated) == (23_456, 3))
      #expect(facts.segmentsSent == (length > 160 ? 4_000 : 0))
      #expect(facts.segmentsDuplicated == (length > 220 ? 2 : 0))
    }
  }

  @Test func `older kernels tell less`() throws {
    // Linux 4.1 has bytes acknowledged and received. Older kernels have only ages.
    for (length, sent, received) in [(104, 0, 0), (136, 34, 0), (232, 34, 0)] as [(Int, UInt64, UInt64)] {
      var bytes = Array(ConnectionCorpus.waiting.prefix(16 + 72))
      let info = Array(ConnectionCorpus.info(of: ConnectionCorpus.waiting).prefix(length))
      bytes += MessageBuilder.attribute(Int(INET_DIAG_INFO), info)
      bytes.replaceSubrange(0..<4, with: MessageBuilder.raw(UInt32(bytes.count)))
      let facts = try #require(Self.connection(bytes)).facts
      #expect((facts.bytesSent, facts.bytesReceived) == (sent, received), "\(length)")
      #expect(facts.sentAge == 1_040_000_000)
    }
  }

  @Test func `refusals and ends`() {
    #expect(Decoding.kinds(ConnectionCorpus.done) == [.done])
    #expect(Decoding.kinds(ConnectionCorpus.refused) == [.error(code: ENOENT)])
    #expect(Decoding.kinds(MessageBuilder(type: Int(NLMSG_OVERRUN)).bytes) == [.overrun])
    #expect(Self.messages(MessageBuilder(type: Int(NLMSG_ERROR)).bytes) == [.ignored])
    #expect(Self.messages(MessageBuilder(type: 20).bytes) == [.ignored])
  }

  @Test func `a message that is cut off is left out`() {
    for count in 0..<(16 + 72) {
      var bytes = Array(ConnectionCorpus.waiting.prefix(count))
      #expect(Self.connection(bytes) == nil)
      guard count >= 16 else { continue }
      bytes.replaceSubrange(0..<4, with: MessageBuilder.raw(UInt32(count)))
      #expect(Self.messages(bytes) == [.ignored])
    }
  }

  // MARK: The question

  @Test(arguments: [
    (AF_INET, "127.0.0.1", false), (AF_INET, "127.255.255.255", false), (AF_INET, "128.0.0.1", true),
    (AF_INET, "0.0.0.0", true), (AF_INET, "10.0.0.1", true), (AF_INET6, "::1", false), (AF_INET6, "::2", true),
    (AF_INET6, "::", true), (AF_INET6, "::ffff:127.0.0.1", false), (AF_INET6, "::ffff:10.0.0.1", true),
    (AF_INET6, "fd00::1", true),
  ])
  func `the kernel passes over what leads to loopback`(_ family: CInt, _ address: String, _ passes: Bool) throws {
    let bytes = try #require(InternetAddress(address)).networkOrder
    #expect(DiagInterpreter(NetlinkRequest.exceptLoopback)?.passes(family, bytes) == passes)
  }

  @Test func `neither those that have ended nor those that have not begun are asked for`() throws {
    let request = try NetlinkRequest.connections()
    let states = request.bytes[(16 + 52)..<(16 + 56)].enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
    for state in [TCP_TIME_WAIT, TCP_CLOSE, TCP_SYN_RECV] { #expect(states & 1 << state == 0) }
    for state in [TCP_SYN_SENT, TCP_ESTABLISHED, TCP_LISTEN, TCP_FIN_WAIT2] { #expect(states & 1 << state != 0) }
  }

  // MARK: What does not count

  @Test(arguments: [
    ("80", true), ("44124", true), ("443", false), ("10.0.0.2", true), ("10.0.0.1", false), ("10.0.0.0/8", true),
    ("10.0.0.3/31", true), ("10.0.0.4/31", false), ("0.0.0.0/0", true), ("::/0", false), ("::ffff:10.0.0.0/104", true),
    ("curl", false),
  ])
  func `an exclusion covers a connection`(_ text: String, _ covers: Bool) throws {
    let connection = try #require(Self.connection(ConnectionCorpus.waiting))
    #expect(try ConnectionExclusion(text).covers(connection) == covers)
    // This connection has the same addresses as IPv4 in IPv6, and another port.
    let mapped = try #require(Self.connection(ConnectionCorpus.dripping))
    #expect(try ConnectionExclusion(text).covers(mapped) == (covers && text != "44124"))
  }

  @Test(arguments: [("fd00::/8", true), ("fd00::2", true), ("fd00::3", false), ("::/0", true), ("0.0.0.0/0", false)])
  func `an exclusion covers IPv6`(_ text: String, _ covers: Bool) throws {
    let connection = try #require(Self.connection(ConnectionCorpus.answered))
    #expect(try ConnectionExclusion(text).covers(connection) == covers)
  }

  @Test func `a program goes by as much of its name as the kernel keeps`() throws {
    #expect(try ConnectionExclusion("spotify") == .program("spotify"))
    #expect(try ConnectionExclusion("systemd-networkd-wait") == .program("systemd-network"))
    #expect(try ConnectionExclusion("python3.11") == .program("python3.11"))
  }

  @Test(arguments: [
    ("0", "'0' is no port; write a number from 1 to 65535."),
    ("65536", "'65536' is no port; write a number from 1 to 65535."),
    ("-1", "'-1' is no port; write a number from 1 to 65535."),
    ("10.0.0.0/33", "'10.0.0.0/33' is no range of addresses; behind 10.0.0.0/ write a number from 0 to 32."),
    ("fd00::/129", "'fd00::/129' is no range of addresses; behind fd00::/ write a number from 0 to 128."),
    ("10.0.0.0/", "'10.0.0.0/' is no range of addresses; behind 10.0.0.0/ write a number from 0 to 32."),
    ("10.0.0.0/8/8", "'10.0.0.0/8/8' is no range of addresses; behind 10.0.0.0/ write a number from 0 to 32."),
    (
      "10.0.0/8",
      "'10.0.0/8' is no range of addresses, and a program goes by its name alone; write 10.0.0.0/8, fd00::/8 or ssh."
    ),
    (
      "/usr/bin/ssh",
      "'/usr/bin/ssh' is no range of addresses, and a program goes by its name alone; write 10.0.0.0/8, fd00::/8 or ssh."
    ),
    (
      "10.0.0.256",
      "'10.0.0.256' is neither a port, an address, a range of addresses nor a program; write 22, 10.0.0.0/8 or ssh."
    ),
    (
      "fd00::g",
      "'fd00::g' is neither a port, an address, a range of addresses nor a program; write 22, 10.0.0.0/8 or ssh."
    ),
    ("", "'' is neither a port, an address, a range of addresses nor a program; write 22, 10.0.0.0/8 or ssh."),
  ])
  func `an exclusion that makes no sense is refused with one sentence`(_ text: String, _ sentence: String) {
    #expect(throws: PlainError(sentence)) { try ConnectionExclusion(text) }
  }

  // MARK: Messages of any content

  @Test func `mutated messages do no harm, and the count is no more than what was seen`() {
    var random = SplitMix(seed: 31)
    var machine = ConnectionActivity()
    var now: Int64 = 0
    var connections = 0
    var scan = machine.handle(.watched, at: .zero).scan ?? 0
    for round in 0..<FuzzRounds.count(default: 20_000) {
      var bytes: [UInt8] = []
      for _ in 0..<(random.oneIn(4) ? 3 : 1) {
        bytes += Mutation.message(from: ConnectionCorpus.all, &random)
        bytes += [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
        // The mutations use the message types of rtnetlink, so the type of sock_diag is set again in half of the
        // messages.
        if bytes.count > 6, random.oneIn(2) { bytes.replaceSubrange(4..<6, with: MessageBuilder.raw(UInt16(18))) }
      }
      for case .connection(let connection) in Self.messages(bytes) {
        connections += 1
        for exclusion in [
          ConnectionExclusion.port(80), .range(.v6(0), prefixLength: 0), .range(.v4(0), prefixLength: 32),
        ] {
          _ = exclusion.covers(connection)
        }
        machine.see(connection.facts, at: now)
      }
      guard round.isMultiple(of: 8) else { continue }
      now += 100_000_000
      let effects = machine.handle(.scanEnded(scan, isWhole: !random.oneIn(5)), at: .nanoseconds(now))
      guard machine.count >= 0, machine.count <= connections, machine.inodes.count == machine.count,
        effects.change.map({ $0.date <= .nanoseconds(now) }) ?? true,
        machine.deadline.map({ $0 >= .nanoseconds(now) }) ?? false
      else {
        Issue.record("round \(round): \(effects), \(machine.count)")
        return
      }
      if random.oneIn(50) { _ = machine.handle(.unwatched, at: .nanoseconds(now)) }
      if machine.deadline == nil { scan = machine.handle(.watched, at: .nanoseconds(now)).scan ?? scan }
      if let deadline = machine.deadline {
        now = max(now, Int64(deadline / .nanoseconds(1)) + 1)
        scan = machine.handle(.timerFired, at: .nanoseconds(now)).scan ?? scan
      }
    }
    #expect(connections > 1_000)
  }
}

extension ConnectionCorpus {
  /// Returns the value of the attribute INET_DIAG_INFO in a message.
  static func info(of message: [UInt8]) -> [UInt8] {
    var offset = 16 + 72
    while offset + 4 <= message.count {
      let length = Int(message[offset]) | Int(message[offset + 1]) << 8
      if message[offset + 2] == UInt8(INET_DIAG_INFO) { return Array(message[(offset + 4)..<(offset + length)]) }
      offset += (length + 3) & ~3
    }
    return []
  }
}

/// Runs sock_diag's bytecode as the kernel does, as far as netwatch's filter needs it. The initializer returns nil if
/// the kernel would refuse the program.
struct DiagInterpreter {
  private let program: [UInt8]

  init?(_ program: [UInt8]) {
    self.program = program
    // The kernel checks this in inet_diag_bc_audit: "yes" leads from one operation to the next, "no" to one of them, to
    // the end, or just past the end.
    var ends: Set<Int> = [program.count, program.count + 4]
    var targets: Set<Int> = []
    var offset = 0
    while offset < program.count {
      ends.insert(offset)
      targets.insert(offset + no(offset))
      guard Int(program[offset + 1]) >= 4 else { return nil }
      offset += Int(program[offset + 1])
    }
    guard offset == program.count, targets.isSubset(of: ends) else { return nil }
  }

  private func no(_ offset: Int) -> Int { Int(program[offset + 2]) | Int(program[offset + 3]) << 8 }

  func passes(_ family: CInt, _ address: [UInt8]) -> Bool {
    var offset = 0
    while offset < program.count {
      let holds =
        switch Int(program[offset]) {
        case INET_DIAG_BC_JMP: false
        default: matches(offset + 4, family, address)
        }
      offset += holds ? Int(program[offset + 1]) : no(offset)
    }
    return offset == program.count
  }

  private func matches(_ condition: Int, _ family: CInt, _ address: [UInt8]) -> Bool {
    let wanted = CInt(program[condition])
    let bits = Int(program[condition + 1])
    let prefix = Array(program[(condition + 8)...].prefix(wanted == AF_INET ? 4 : 16))
    var own = address
    if wanted != family {
      guard family == AF_INET6, address.starts(with: [UInt8](repeating: 0, count: 10) + [255, 255]) else {
        return false
      }
      own = Array(address.suffix(4))
    }
    return (0..<bits).allSatisfy { bit in (own[bit / 8] ^ prefix[bit / 8]) & (0x80 >> UInt8(bit % 8)) == 0 }
  }
}
