import FoundationEssentials
import Testing

@testable import NetwatchHTTP

/// Bodies in memory, whose memory is used again.
@Suite struct MemoryBodyTests {
  private static let border = BodyMemory.mostBytes

  @Test(arguments: [0, 1, border - 1, border, border + 1, 3 * border], [Int64?.none, 0, 1, Int64(border), 1 << 40])
  func `a body is whole, whatever its length and whatever was announced`(count: Int, announced: Int64?) {
    let memory = BodyMemory()
    for chunk in [1_000, Self.border, 4 * Self.border] {
      let sent = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      var body = MemoryBody(memory)
      for start in stride(from: 0, to: count, by: chunk) {
        unsafe sent[start..<min(start + chunk, count)].withUnsafeBytes { unsafe body.append($0, of: announced) }
      }
      #expect(body.takeAll().data == Data(sent))
      #expect(body.takeAll().data.isEmpty)
    }
  }

  @Test func `memory is used again once nobody has the body, and not before`() {
    let memory = BodyMemory()
    func body(of byte: UInt8) -> ReceivedBody {
      var body = MemoryBody(memory)
      unsafe [UInt8](repeating: byte, count: 1_000).withUnsafeBytes { unsafe body.append($0, of: 1_000) }
      return body.takeAll()
    }
    var first: ReceivedBody? = body(of: 1)
    let second = body(of: 2)
    #expect(first?.data == Data(repeating: 1, count: 1_000))
    first = nil
    let reused = memory.take()
    #expect(reused.isEmpty)
    #expect(reused.capacity >= 1_000)
    memory.give(reused)
    let third = body(of: 3)
    #expect(second.data == Data(repeating: 2, count: 1_000))
    #expect(third.data == Data(repeating: 3, count: 1_000))
  }
}
