import Testing

@testable import Netwatch

@Suite struct LineBufferTests {
  /// The numbers up to 1,100, each power of ten with its neighbours, and the largest numbers.
  static let numbers: [UInt64] =
    Array(0...1_100) + [.max, .max - 1]
    + (3...19).flatMap { exponent in
      let power = (0..<exponent).reduce(UInt64(1)) { power, _ in power * 10 }
      return [power - 1, power, power + 1]
    }

  @Test func `numbers are written as Swift prints them`() {
    for number in Self.numbers {
      var buffer = LineBuffer()
      buffer.appendDecimal(number)
      #expect(buffer.text == "\(number)")
    }
  }

  @Test func `numbers get leading zeros up to their digits`() {
    for number in Self.numbers {
      for digits in 0...22 {
        var buffer = LineBuffer(capacity: 1)
        buffer.appendDecimal(number, digits: digits)
        let zeros = String(repeating: "0", count: max(0, digits - "\(number)".count))
        #expect(buffer.text == zeros + "\(number)")
      }
    }
  }

  @Test func `many numbers grow the buffer`() {
    var buffer = LineBuffer(capacity: 1)
    for number in Self.numbers { buffer.appendDecimal(number) }
    #expect(buffer.text == Self.numbers.map { "\($0)" }.joined())
  }
}
