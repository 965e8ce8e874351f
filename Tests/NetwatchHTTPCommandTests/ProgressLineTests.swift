import Testing

@testable import NetwatchHTTPCommand

@Suite struct ProgressLineTests {
  @Test(arguments: 1...250)
  func `a line is shorter than the terminal is wide`(columns: Int) {
    for total in [nil, 0, 1, 31_000_000, Int64.max] {
      for received in [0, 1, 13_200_000, Int64.max] {
        let line = ProgressLine(
          amount: Amount(received: received, total: total), bytesPerSecond: 2.1e6, timeLeft: .seconds(8))
        #expect(line.text(columns: columns).count < columns)
      }
    }
  }
}
