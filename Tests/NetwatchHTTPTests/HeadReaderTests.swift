import HTTPTypes
import Testing

@testable import NetwatchHTTP

/// A head is read the same, whatever was read before it.
@Suite struct HeadReaderTests {
  private static let heads = [
    "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 6\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\nETag: x\r\n\r\n",
    "HTTP/1.1 404 Not Found\r\nServer: a\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nServer: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX-Folded: a\r\n\t b \r\n \r\n HTTP/1.1 500 No\r\nServer: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX-Long: \(String(repeating: "x", count: ResponseHead.mostBytes))\r\n\r\n",
  ]

  private static func lines(_ head: String) -> [[UInt8]] {
    head.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().map { Array($0) + [10] }
  }

  private static func take(_ line: [UInt8], _ head: HeadReader) -> Bool {
    unsafe line.withUnsafeBytes { unsafe head.append($0) } == nil
  }

  private static func read(_ text: String, _ head: HeadReader) -> HeadReader {
    head.begin()
    for line in lines(text) { #expect(take(line, head)) }
    return head
  }

  private static func expectSame(_ head: HeadReader, _ other: HeadReader) {
    #expect(head.head != nil && head.head?.response == other.head?.response)
    #expect(head.head?.code == other.head?.code && head.head?.bodyLength == other.head?.bodyLength)
  }

  @Test(arguments: heads, heads) func `a head after another one is read the same`(_ first: String, _ second: String) {
    let memory = HeadMemory()
    for head in [first, second, second, first] {
      Self.expectSame(Self.read(head, HeadReader(memory)), Self.read(head, HeadReader(HeadMemory())))
    }
  }

  @Test(arguments: heads, heads) func `the next head of a reader is read the same`(_ first: String, _ second: String) {
    let head = HeadReader(HeadMemory())
    for text in [first, second, second, first] {
      Self.expectSame(Self.read(text, head), Self.read(text, HeadReader(HeadMemory())))
    }
  }

  @Test(arguments: heads, heads) func `a head after half of another is read right`(_ first: String, _ second: String) {
    let head = HeadReader(HeadMemory())
    _ = Self.read(first, head)
    head.begin()
    for line in Self.lines(first).dropLast() { #expect(Self.take(line, head)) }
    Self.expectSame(Self.read(second, head), Self.read(second, HeadReader(HeadMemory())))
  }

  @Test(arguments: heads, heads) func `two heads read line by line do not mix`(_ first: String, _ second: String) {
    let memory = HeadMemory()
    _ = Self.read(first, HeadReader(memory))
    let texts = [first, second]
    let heads = [HeadReader(memory), HeadReader(memory)]
    for head in heads { head.begin() }
    for number in 0..<max(Self.lines(first).count, Self.lines(second).count) {
      for (index, text) in texts.enumerated() where number < Self.lines(text).count {
        #expect(Self.take(Self.lines(text)[number], heads[index]))
      }
    }
    for (head, text) in zip(heads, texts) { Self.expectSame(head, Self.read(text, HeadReader(HeadMemory()))) }
  }

  @Test func `a folded line continues its field, and is never a field, a status line or the end`() {
    let text =
      "HTTP/1.1 200 OK\r\nX-One: 1\r\n \r\n\tX-Two: 2\r\n  HTTP/1.1 500 No\r\nX-Empty:\r\n now \r\nX-Last: 3\r\n\r\n"
    let response = Self.read(text, HeadReader(HeadMemory())).head?.response
    #expect(response?.status.code == 200)
    #expect(
      response?.headerFields.map { "\($0.name.rawName)=\($0.value)" }
        == ["X-One=1 X-Two: 2 HTTP/1.1 500 No", "X-Empty=now", "X-Last=3"])
  }

  @Test func `what continues a line without a name goes with it`() {
    let text = "HTTP/1.1 200 OK\r\nX-One: 1\r\nno field\r\n x\r\n\r\n"
    let response = Self.read(text, HeadReader(HeadMemory())).head?.response
    #expect(response?.headerFields.map(\.value) == ["1"])
  }

  @Test(arguments: ["Content-Length", "Transfer-Encoding"]) func `a length is not folded`(_ name: String) {
    let head = HeadReader(HeadMemory())
    head.begin()
    let lines = Self.lines("HTTP/1.1 200 OK\r\n\(name):\r\n 5\r\n")
    #expect(lines.map { Self.take($0, head) } == [true, true, false])
  }
}
