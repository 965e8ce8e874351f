import HTTPTypes
import Testing

@testable import NetwatchHTTP

/// Tests of the heads of responses, whose fields servers fold and repeat.
@Suite struct HeadReaderTests {
  private static let heads = [
    "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 6\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\nETag: x\r\n\r\n",
    "HTTP/1.1 404 Not Found\r\nServer: a\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nServer: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX-Folded: a\r\n\t b \r\n \r\n HTTP/1.1 500 No\r\nServer: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX-Long: \(String(repeating: "x", count: 4_096))\r\n\r\n",
  ]

  private static func lines(_ head: String) -> [[UInt8]] {
    head.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().map { Array($0) + [10] }
  }

  private static func take(_ line: [UInt8], _ reader: inout HeadReader) -> Bool {
    unsafe line.withUnsafeBytes { unsafe reader.append($0) } == nil
  }

  private static func read(_ text: String) -> ResponseHead? {
    var reader = HeadReader(mostBytes: 256 * 1_024)
    for line in lines(text) { #expect(take(line, &reader)) }
    return reader.head
  }

  @Test(arguments: heads, heads) func `a head after another one counts`(_ first: String, _ second: String) {
    var reader = HeadReader(mostBytes: 256 * 1_024)
    for line in Self.lines(first) + Self.lines(second) { #expect(Self.take(line, &reader)) }
    let expected = Self.read(second)
    #expect(expected != nil && reader.head?.response == expected?.response)
    #expect(reader.head?.code == expected?.code && reader.head?.bodyLength == expected?.bodyLength)
    #expect(reader.head?.codings.content == expected?.codings.content)
  }

  @Test func `a folded line continues its field, and is never a field, a status line or the end`() {
    let text =
      "HTTP/1.1 200 OK\r\nX-One: 1\r\n \r\n\tX-Two: 2\r\n  HTTP/1.1 500 No\r\nX-Empty:\r\n now \r\nX-Last: 3\r\n\r\n"
    let response = Self.read(text)?.response
    #expect(response?.status.code == 200)
    #expect(
      response?.headerFields.map { "\($0.name.rawName)=\($0.value)" }
        == ["X-One=1 X-Two: 2 HTTP/1.1 500 No", "X-Empty=now", "X-Last=3"])
  }

  @Test func `what continues a line without a name goes with it`() {
    let text = "HTTP/1.1 200 OK\r\nX-One: 1\r\nno field\r\n x\r\n\r\n"
    let response = Self.read(text)?.response
    #expect(response?.headerFields.map(\.value) == ["1"])
  }

  @Test(arguments: ["Content-Length", "Transfer-Encoding"]) func `a length is not folded`(_ name: String) {
    var reader = HeadReader(mostBytes: 256 * 1_024)
    let lines = Self.lines("HTTP/1.1 200 OK\r\n\(name):\r\n 5\r\n")
    #expect(lines.map { Self.take($0, &reader) } == [true, true, false])
  }

  @Test(
    arguments: [
      (["5", "5"], 5), (["5, 5"], 5), (["0"], 0), (["9223372036854775807"], Int64.max), (["5", "10"], nil),
      (["10", "5"], nil),
      (["5, 10"], nil), (["+5"], nil), (["-5"], nil), (["0x5"], nil), (["5 5"], nil), (["5.0"], nil), ([""], nil),
      ([",5"], nil),
      (["99999999999999999999"], nil), (["5", "x"], nil),
    ] as [([String], Int64?)])
  func `a length is one number, however often it is told`(_ values: [String], _ length: Int64?) {
    for (more, isEncoded) in [("", false), ("Transfer-Encoding: chunked\r\n", true)] {
      var reader = HeadReader(mostBytes: 256 * 1_024)
      let fields = values.map { "Content-Length: \($0)\r\n" }.joined()
      let isTaken = Self.lines("HTTP/1.1 200 OK\r\n\(fields)\(more)\r\n").allSatisfy { Self.take($0, &reader) }
      // Content-Length does not count for a body with a transfer coding, which has its length in itself (RFC 9112,
      // section 6.3).
      #expect(isTaken == (length != nil || isEncoded))
      if isTaken { #expect(reader.head?.bodyLength == (isEncoded ? nil : length)) }
    }
  }

  @Test func `a head has at most 2,000 fields, and as many trailers`() {
    var reader = HeadReader(mostBytes: 256 * 1_024)
    #expect(Self.take(Array("HTTP/1.1 200 OK\r\n".utf8), &reader))
    #expect((1...2_001).map { _ in Self.take(Array("a:\n".utf8), &reader) }.firstIndex(of: false) == 2_000)
    var other = HeadReader(mostBytes: 256 * 1_024)
    func takeTrailer() -> Bool { unsafe Array("a:\n".utf8).withUnsafeBytes { unsafe other.append(trailer: $0) } == nil }
    #expect((1...2_001).map { _ in takeTrailer() }.firstIndex(of: false) == 2_000)
  }

  @Test func `a value keeps the bytes that are not ASCII, and what is no text of a field becomes spaces`() {
    let response = Self.read("HTTP/1.1 200 OK\r\nX-Name: Zoë\r\nX-Bell: a\u{7}b\r\nX-Zero: a\0b\r\n\r\n")?.response
    #expect(response?.headerFields.map(\.value) == ["Zoë", "a\u{7}b", "a b"])
  }
}
