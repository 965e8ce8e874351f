import Netwatch
import NetwatchTestSupport
import Testing

/// What the answer to a probe proves, and how much of it has to be read for that.
@Suite struct ProbeAnswerTests {
  private static func access(_ status: Int?, _ body: String, expecting expected: String? = nil, isWhole: Bool = true)
    -> InternetAccess?
  {
    var answer = ProbeAnswer(expecting: expected.map { Array($0.utf8) })
    answer.status = status
    answer.append(body: Array(body.utf8))
    if isWhole { answer.end() }
    return answer.access
  }

  @Test func `without an expected text, 204 or an empty 200 is the internet`() {
    #expect(Self.access(204, "") == .full)
    #expect(Self.access(200, "") == .full)
    #expect(Self.access(200, "x") == .portal)
    #expect(Self.access(200, "x", isWhole: false) == .portal)
    // The rest of the answer decides.
    #expect(Self.access(200, "", isWhole: false) == nil)
    #expect(Self.access(nil, "", isWhole: false) == nil)
    #expect(Self.access(nil, "") == .absent)
  }

  @Test func `with an expected text, only a 200 that begins with it is the internet`() {
    #expect(Self.access(200, "success", expecting: "success") == .full)
    #expect(Self.access(200, "success\n", expecting: "success") == .full)
    #expect(Self.access(200, "success", expecting: "success", isWhole: false) == .full)
    #expect(Self.access(200, "succ", expecting: "success", isWhole: false) == nil)
    #expect(Self.access(200, "succ", expecting: "success") == .portal)
    #expect(Self.access(200, "<html>", expecting: "success", isWhole: false) == .portal)
    #expect(Self.access(200, "", expecting: "success") == .portal)
    #expect(Self.access(204, "", expecting: "success") == .unknown)
  }

  @Test(arguments: 0...999)
  func `each status has one meaning`(status: Int) {
    let expected: InternetAccess =
      switch status {
      case 301, 302, 303, 307, 308, 511: .portal
      case 200, 204: .full
      default: .unknown
      }
    #expect(Self.access(status, "") == expected)
  }

  @Test func `a text that comes in pieces is the same text`() {
    var random = SplitMix(seed: 5)
    let expected = Array("<HTML><HEAD><TITLE>Success</TITLE>".utf8)
    for _ in 0..<2_000 {
      var body = expected + Array(" and more".utf8)
      if random.oneIn(2) { body[Int.random(in: 0..<expected.count, using: &random)] ^= 1 }
      var answer = ProbeAnswer(expecting: expected)
      answer.status = 200
      var rest = body[...]
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 0...9, using: &random))
        answer.append(body: piece)
        rest = rest.dropFirst(piece.count)
      }
      #expect(answer.access == (body.starts(with: expected) ? .full : .portal))
    }
  }
}
