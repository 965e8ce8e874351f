import Glibc
import Netwatch
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// The records that are written are the records that are read, and nothing else is read.
@Suite struct TraceRecordTests {
  @Test func `every kind of record reads back as it was`() throws {
    let file = TraceFile()
    let settings: [TraceReader.Setting] = [("ignore", "a b%\u{1b}[2Jé"), ("interfaces", nil), ("hold", "")]
    let writer = try TraceWriter(creating: file.path, settings)
    let moment = EventTimestamp(monotonic: 7, wall: .max / 2)
    let causes: [KernelInterface.WakeReason] = [
      .start, .turn(.event), .turn(.wirelessEvent), .timer(.hold), .timer(.retry), .timer(.resolution), .resumed,
      .unresolved, .resolved([]), .resolved([.v6(1), .v4(0xc000_0207)]), .found(.cableChanged), .found(.namespaceEnded),
    ]
    for cause in causes { writer.write(cause, at: moment) }
    var sample = moment
    sample.suspended = 9
    writer.write(.sampling, at: sample)
    writer.write(.quality, at: sample)
    var connection = ConnectionFacts(cookie: .max, stage: .open)
    (connection.roundTripTime, connection.bytesAcknowledged, connection.sentAge) = (.max, .max, .max)
    (connection.segmentsSent, connection.segmentsRepeated, connection.segmentsDuplicated) = (1, .max, 3)
    writer.write(connection)
    writer.writeEndOfConnections(isWhole: true)
    writer.writeEndOfConnections(isWhole: false)
    let datagram: [UInt8] = Array(0...255)
    var expected: [TraceRecord] =
      causes.map { .cause($0, moment) } + [.cause(.sampling, sample), .cause(.quality, sample)]
    expected += [.connection(connection), .connectionsEnd(isWhole: true), .connectionsEnd(isWhole: false)]
    for channel in NetlinkTransport.Channel.allCases {
      unsafe writer.write(datagram.span.bytes, from: channel)
      unsafe writer.write([UInt8]().span.bytes, from: channel)
      writer.writeOverrun(of: channel)
      writer.writeEnd(of: channel)
      expected += [.datagram(channel, datagram), .datagram(channel, [])]
      expected += [.overrun(channel), .end(channel)]
    }
    for call in NetlinkTransport.Call.allCases {
      writer.write(call, failedWith: ENOBUFS, on: .event)
      expected.append(.failed(.event, call, code: ENOBUFS))
    }
    let traits = [
      DeviceTraits(), DeviceTraits(type: "w wan%", isWireless: true, isTether: true),
      DeviceTraits(isWireless: true, radioBlock: .hard),
    ]
    for traits in traits {
      writer.write(traits, ofLink: 3)
      expected.append(.device(index: 3, traits))
    }
    writer.writeMeteredLease(of: .ip("192.168.43.50"), ofLink: 3)
    expected.append(.meteredLease(index: 3, .ip("192.168.43.50")))
    writer.writeNews(of: .uplinkChanged)
    expected.append(.news(.uplinkChanged))
    // The same again is not written.
    for text in [#"{"a":"b  c\u001b"}"#, #"{"a":"b  c\u001b"}"#, "{}"] { writer.write(findings: text) }
    expected += [.findings(.object(["a": .string("b  c\u{1b}")])), .findings(.object([:]))]

    let reader = try TraceReader(opening: file.path)
    #expect(reader.settings.elementsEqual(settings) { $0 == $1 })
    for record in expected { #expect(try reader.next() == record) }
    #expect(try reader.next() == nil)
    // People read traces in a terminal, so a trace has no control characters.
    #expect(try file.text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && $0.value != 0x7f })
  }

  @Test(arguments: [
    "", " ", "evnt 00", "event", "event 0", "event 0g", "event 0A", "event  00", "event 00 00", "event over", "set",
    "event failed", "event failed recv", "event failed recv -1", "event failed recv 5000", "event failed open 5",
    "turn 1 2", "turn 1 2 lunch", "turn -1 2 event", "turn 1 9223372036854775807 event", "turn 1 event",
    "turn 99999999999999999999 2 event", "start 1", "start 1 2 3", "timer 1 2", "timer 1 2 tea", "resumed 1 2 3",
    "sampling 1 2", "sampling 1 2 -3", "sampling 1 2 3 4", "sampling 1 2 x",
    "quality 1 2", "quality 1 2 -3", "quality 1 2 3 4", "tcp", "tcp over", "tcp end 1", "tcp 1 2 3 4 5 6",
    "tcp 1 2 3 4 5 6 7 8", "tcp 1 4294967296 3 4 5 6 7", "tcp 1 2 3 4294967296 5 6 7",
    "tcp 1 2 3 4 5 6 9223372036854775808",
    "tcp -1 2 3 4 5 6 7", "tcp 1 2 3 x 5 6 7",
    "namespaces", "namespaces pid", "namespaces network users", "resolved 1 2 example.org", "device", "device x",
    "device 99999999999", "device 3 fast", "device 3 type=%4",
    "lease", "lease 3", "lease x 192.168.43.50", "lease 3 here", "lease 3 192.168.43.50 1", "leases 1", "leases 1 2 3",
    "device 3 type=%zz", "device 3 type=%ff", "start 1 2\r", "found 1 2", "found 1 2 lunch", "found 1 2 initial 3",
    "news", "news lunch", "news initial 3", "findings", "findings ", "findings 7", "findings {", "findings {} {}",
  ])
  func `what is no record is refused, with its line`(_ line: String) throws {
    let file = try TraceFile(["netwatch-trace 2", "start 1 2", line, "start 1 2"])
    let reader = try TraceReader(opening: file.path)
    #expect(try reader.next() != nil)
    let shown = line.replacing("\r", with: "?")
    #expect(throws: TraceError(file: file.path, line: 3, problem: .malformed(shown))) { try reader.next() }
  }

  @Test func `a message of an error steers no terminal and stays short`() throws {
    let file = try TraceFile(["netwatch-trace 2", "\u{1b}[31m" + String(repeating: "é", count: 500)])
    let reader = try TraceReader(opening: file.path)
    let error = #expect(throws: TraceError.self) { try reader.next() }
    let text = try #require(error).description
    #expect(text.hasPrefix("line 2 of '\(file.path)' is not part of a recording: '?[31m???"))
    #expect(text.utf8.count < 200 && text.utf8.allSatisfy { 0x20..<0x7f ~= $0 })
  }

  private static let noTraces: [(String, TraceError.Problem)] = [
    ("", .notATrace), ("netwatch-tra", .notATrace), ("hello\n", .notATrace), ("netwatch-trace 2", .notATrace),
    (String(repeating: "\0", count: 3 << 20), .notATrace), ("netwatch-trace 1\n", .version),
    ("netwatch-trace 20\n", .version), ("netwatch-trace 2\nset a", .cut),
    ("netwatch-trace 2\n" + String(repeating: "set a\n", count: 1001), .tooManySettings),
    ("netwatch-trace 2\nevent " + String(repeating: "0", count: 2 << 20), .tooLong),
    ("netwatch-trace 2\nevent " + String(repeating: "0", count: 2 << 20) + "\n", .tooLong),
  ]

  @Test(arguments: noTraces.indices)
  func `what is no trace is said so`(_ index: Int) throws {
    let (text, problem) = Self.noTraces[index]
    let file = try TraceFile(Array(text.utf8))
    let error = #expect(throws: TraceError.self) { try TraceReader(opening: file.path) }
    #expect(error?.problem == problem)
  }

  @Test func `a datagram of 64 KiB is read, a longer one is not`() throws {
    let longest = String(repeating: "ab", count: NetlinkSocket.bufferSize)
    let file = try TraceFile(["netwatch-trace 2", "event \(longest)", "event \(longest)ab"])
    let reader = try TraceReader(opening: file.path)
    #expect(try reader.next() == .datagram(.event, [UInt8](repeating: 0xab, count: NetlinkSocket.bufferSize)))
    #expect(throws: TraceError.self) { try reader.next() }
  }

  @Test func `settings stand first`() throws {
    let file = try TraceFile(["netwatch-trace 2", "set a", "start 1 2", "set b"])
    let reader = try TraceReader(opening: file.path)
    _ = try reader.next()
    #expect(throws: TraceError(file: file.path, line: 4, problem: .settingTooLate)) { try reader.next() }
  }

  // MARK: Writing

  @Test func `a trace is its owner's, and takes no other file's place`() throws {
    let file = TraceFile()
    _ = try TraceWriter(creating: file.path)
    var status = stat()
    #expect(unsafe stat(file.path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    #expect(throws: TraceError(file: file.path, line: 0, problem: .exists)) { try TraceWriter(creating: file.path) }
    #expect(try file.text == "netwatch-trace 2\n")
  }
}
