import HTTPTypes
import Testing

@testable import NetwatchHTTP

/// A head is read the same, whatever was read before it.
@Suite struct ResponseHeadTests {
  private static let heads = [
    "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 6\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\nETag: x\r\n\r\n",
    "HTTP/1.1 404 Not Found\r\nServer: a\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nServer: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX-Long: \(String(repeating: "x", count: KnownHead.mostBytes))\r\n\r\n",
  ]

  private static func lines(_ head: String) -> [[UInt8]] {
    head.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().map { Array($0) + [10] }
  }

  private static func take(_ line: [UInt8], _ head: inout ResponseHead, _ memory: HeadMemory) -> Bool {
    unsafe line.withUnsafeBytes { unsafe head.take($0, memory) }
  }

  private static func read(_ head: String, _ memory: HeadMemory) -> ResponseHead {
    var result = ResponseHead()
    for line in lines(head) { #expect(take(line, &result, memory)) }
    return result
  }

  private static func expectSame(_ head: ResponseHead, _ other: ResponseHead) {
    #expect(head.response == other.response && head.isComplete && other.isComplete)
    #expect(head.code == other.code && head.bodyLength == other.bodyLength)
  }

  @Test(arguments: heads, heads) func `after another one`(_ first: String, _ second: String) {
    let memory = HeadMemory()
    for head in [first, second, second, first] {
      Self.expectSame(Self.read(head, memory), Self.read(head, HeadMemory()))
    }
  }

  @Test(arguments: heads, heads) func `line by line with another one`(_ first: String, _ second: String) {
    let memory = HeadMemory()
    _ = Self.read(first, memory)
    let texts = [first, second]
    var heads = [ResponseHead(), ResponseHead()]
    for number in 0..<max(Self.lines(first).count, Self.lines(second).count) {
      for (index, text) in texts.enumerated() where number < Self.lines(text).count {
        #expect(Self.take(Self.lines(text)[number], &heads[index], memory))
      }
    }
    for (head, text) in zip(heads, texts) { Self.expectSame(head, Self.read(text, HeadMemory())) }
  }
}
