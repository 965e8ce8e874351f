import Foundation
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite struct EventStreamParserTests {
  /// The events and the state that a stream has brought.
  struct Reading: Hashable {
    var events: [ServerSentEvent] = []
    var lastEventID = ""
    var retry: Duration?
  }

  struct Example: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let stream: String
    let events: [ServerSentEvent]
    var lastEventID = ""
    var retry: Duration?

    init(
      _ name: String, _ stream: String, _ events: [ServerSentEvent], lastEventID: String = "", retry: Duration? = nil
    ) {
      testDescription = name
      self.stream = stream
      self.events = events
      self.lastEventID = lastEventID
      self.retry = retry
    }
  }

  /// The examples in WHATWG HTML, sections 9.2.6 and 9.2.7, and cases that follow from the text of these sections.
  static let examples = [
    Example(
      "three data fields of one event", "data: YHOO\ndata: +2\ndata: 10\n\n", [ServerSentEvent(data: "YHOO\n+2\n10")]),
    Example(
      "a comment, an ID, an ID that is taken back, and an event that is not complete",
      ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
      [ServerSentEvent(data: "first event", id: "1"), ServerSentEvent(data: "second event")]),
    Example("empty data, and two empty lines of data", "data\n\ndata\ndata\n\ndata:", [.empty, .init(data: "\n")]),
    Example("a space behind the colon does not count", "data:test\n\ndata: test\n\n", [.test, .test]),
    Example("a second space does", "data:  test\n\n", [ServerSentEvent(data: " test")]),
    Example(
      "names", "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\ndata: x\n\n",
      [.init(type: "add", data: "73857293"), .init(type: "remove", data: "2153"), .init(data: "x")]),
    Example("a name without data is no event, and not the next one's", "event: a\n\ndata: test\n\n", [.test]),
    Example("an empty name is none", "event: a\nevent\ndata: test\n\n", [.test]),
    Example("a byte order mark", "\u{feff}data: test\n\n", [.test]),
    Example("only the first one", "\u{feff}\u{feff}data: test\n\ndata: test\n\n", [.test]),
    Example("all line ends", "data: a\rdata: b\r\ndata: c\n\r\ndata: d\r\rdata: e\n\n", ["a\nb\nc", "d", "e"].events),
    Example("an ID without data", "id: 7\n\n", [], lastEventID: "7"),
    Example("an ID stays", "id: 7\ndata: a\n\ndata: b\n\n", ["a", "b"].events(id: "7"), lastEventID: "7"),
    Example(
      "an ID counts when its event is complete", "id: 7\ndata: a\n\nid: 8\ndata: b\n", ["a"].events(id: "7"),
      lastEventID: "7"),
    Example("an ID with NUL is ignored", "id: 7\nid: 8\u{0}\ndata: a\n\n", ["a"].events(id: "7"), lastEventID: "7"),
    Example("retry", "retry: 2500\n\n", [], retry: .milliseconds(2_500)),
    Example("retry counts at once", "retry: 10", []),
    Example("retry with its line", "retry:10\n", [], retry: .milliseconds(10)),
    Example("retry of anything but digits", "retry: 1e3\nretry: -1\nretry: +1\nretry: 1 \nretry\nretry: ٣\n", []),
    Example("the largest retry", "retry: \(String(repeating: "9", count: 40))\n", [], retry: .milliseconds(1 << 42)),
    Example("unknown fields", "datas: a\nDATA: b\n data: c\nfoo\ndata: test\n\n", [.test]),
    Example("colons in values", "data: a:b\ndata::\n\n", [ServerSentEvent(data: "a:b\n:")]),
    Example("nothing", "", []),
    Example("blank lines", "\n\n\r\n\r\r", []),
  ]

  static func read(_ bytes: Data, splitAt ends: [Int] = []) throws -> Reading {
    var parser = EventStreamParser(lastEventID: "", maximumEventBytes: 1 << 20)
    var reading = Reading()
    var start = 0
    for end in ends + [bytes.count] {
      try parser.parse(bytes[start..<end], into: &reading.events)
      start = end
    }
    reading.lastEventID = parser.lastEventID
    reading.retry = parser.retry
    return reading
  }

  @Test(arguments: examples) func `a stream is read as the specification says`(_ example: Example) throws {
    let bytes = Data(example.stream.utf8)
    let expected = Reading(events: example.events, lastEventID: example.lastEventID, retry: example.retry)
    #expect(try Self.read(bytes) == expected)
    #expect(try Self.read(bytes, splitAt: Array(0..<bytes.count)) == expected)
    #expect(Self.readSimply(bytes) == expected)
  }

  @Test func `bytes that are no UTF-8 become replacement characters`() throws {
    let bytes = Data("data: a".utf8) + [0xff] + Data("b\n\n".utf8)
    #expect(try Self.read(bytes).events == ["a\u{fffd}b"].events)
  }

  @Test func `a new connection keeps the ID, and nothing of an event that was cut off`() throws {
    var parser = EventStreamParser(lastEventID: "0", maximumEventBytes: 100)
    var events: [ServerSentEvent] = []
    try parser.parse(Data("id: 1\ndata: a\n\nid: 2\nevent: b\ndata: c\nda".utf8), into: &events)
    parser.restart()
    try parser.parse(Data("\u{feff}\ndata: d\n\n".utf8), into: &events)
    #expect(events == ["a", "d"].events(id: "1"))
    #expect(parser.lastEventID == "1")
  }

  @Test(arguments: [
    "data: \(String(repeating: "x", count: 200))\n\n", String(repeating: "x", count: 200),
    String(repeating: "data\n", count: 200), String(repeating: "data: 123456789\n", count: 20),
    ": \(String(repeating: "x", count: 200))",
  ]) func `an event above the limit is an error, after the events before it`(_ long: String) {
    for size in [1, 7, 1_000] {
      var parser = EventStreamParser(lastEventID: "", maximumEventBytes: 100)
      var events: [ServerSentEvent] = []
      let bytes = Data("data: test\n\n\(long)".utf8)
      let error = #expect(throws: HTTPError.self) {
        for start in stride(from: 0, to: bytes.count, by: size) {
          try parser.parse(bytes[start..<min(start + size, bytes.count)], into: &events)
        }
      }
      #expect(error?.kind == .responseTooLarge)
      #expect(error?.message == "an event has more than 100 bytes")
      #expect(events == [.test])
    }
  }

  @Test func `any split of any bytes gives the same events`() throws {
    let words: [String] = [
      "data", "data:", "data: ", "id", "id: ", "event: ", "retry: ", ":", " ", "\n", "\n", "\n\n", "\r", "\r\n",
      "\r\n\r\n",
      "\u{0}", "\u{feff}", "1", "42", "ü", "text", "€",
    ]
    var random = SplitMix(seed: 17)
    var found = 0
    for _ in 0..<FuzzRounds.count(default: 20_000) {
      var bytes = Data()
      for _ in 0..<Int.random(in: 0...24, using: &random) {
        bytes += Data(words[Int.random(in: 0..<words.count, using: &random)].utf8)
        if random.oneIn(12) { bytes.append(UInt8.random(in: 0...255, using: &random)) }
      }
      let ends = (0..<Int.random(in: 0...6, using: &random)).map { _ in
        Int.random(in: 0...bytes.count, using: &random)
      }
      let reading = try Self.read(bytes, splitAt: ends.sorted())
      try #require(reading == Self.readSimply(bytes), "\(Array(bytes)) split at \(ends.sorted())")
      found += reading.events.count
    }
    #expect(found > 0)
  }

  /// Reads a stream as the specification describes it, without regard to parts, limits and speed.
  static func readSimply(_ bytes: Data) -> Reading {
    var bytes = Array(bytes)
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) { bytes.removeFirst(3) }
    var lines: [[UInt8]] = [[]]
    for (index, byte) in bytes.enumerated() {
      if byte == 10, index > 0, bytes[index - 1] == 13 { continue }
      if byte == 10 || byte == 13 { lines.append([]) } else { lines[lines.count - 1].append(byte) }
    }
    var reading = Reading()
    var (type, data, id) = ("", "", "")
    for line in lines.dropLast() {
      if line.isEmpty {
        reading.lastEventID = id
        if !data.isEmpty {
          // The last line feed is removed as a byte, because in Swift CR and LF form one character.
          let text = String(decoding: data.utf8.dropLast(), as: UTF8.self)
          reading.events.append(ServerSentEvent(type: type.isEmpty ? "message" : type, data: text, id: id))
        }
        (type, data) = ("", "")
        continue
      }
      let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
      var value = parts.count == 2 ? Array(parts[1]) : []
      if value.first == 32 { value.removeFirst() }
      let text = String(decoding: value, as: UTF8.self)
      switch String(decoding: parts[0], as: UTF8.self) {
      case "event": type = text
      case "data": data += text + "\n"
      case "id": if !value.contains(0) { id = text }
      case "retry":
        if !value.isEmpty, value.allSatisfy({ 48...57 ~= $0 }) {
          reading.retry = .milliseconds(min(Int64(text) ?? .max, 1 << 42))
        }
      default: break
      }
    }
    return reading
  }
}

extension ServerSentEvent {
  fileprivate static let test = ServerSentEvent(data: "test")
  fileprivate static let empty = ServerSentEvent(data: "")
}

extension [String] {
  fileprivate var events: [ServerSentEvent] { events(id: "") }
  fileprivate func events(id: String) -> [ServerSentEvent] { map { ServerSentEvent(data: $0, id: id) } }
}
