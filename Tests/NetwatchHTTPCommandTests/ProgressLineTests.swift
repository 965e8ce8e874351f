import Testing

@testable import NetwatchHTTPCommand

@Suite struct ProgressLineTests {
  private func line(_ received: Int64, _ total: Int64?, rate: Double? = 2.1e6, left: Duration? = .seconds(8))
    -> ProgressLine
  {
    ProgressLine(received: received, total: total, bytesPerSecond: rate, timeLeft: left)
  }

  @Test(arguments: 1...250)
  func `a line is shorter than the terminal is wide`(columns: Int) {
    for total in [nil, 0, 1, 31_000_000, Int64.max] {
      for received in [0, 1, 13_200_000, Int64.max] {
        for left in [nil, .seconds(8), .seconds(1e15)] as [Duration?] {
          let text = line(received, total, left: left).text(columns: columns)
          #expect(text.count < columns)
          #expect(columns < 30 || !text.isEmpty)
        }
      }
    }
  }

  @Test func `it says as much as there is room for`() {
    let line = line(13_200_000, 31_000_000)
    #expect(
      line.text(columns: 80) == " 42 % [===========>              ]  13.2 MB of 31.0 MB   2.1 MB/s     0:08 left")
    #expect(line.text(columns: 60) == " 42 % [=======>         ]  13.2 MB of 31.0 MB     0:08 left")
    #expect(line.text(columns: 40) == " 42 % [====>      ]  13.2 MB of 31.0 MB")
    #expect(line.text(columns: 30) == " 42 % [=====>      ]  13.2 MB")
    #expect(line.text(columns: 20) == " 42 %  13.2 MB")
    #expect(line.text(columns: 8) == " 42 %")
  }

  @Test func `the bar does not jump when rate and time become known`() {
    let bar = #/\[.*\]/#
    for columns in 20...120 {
      let known = line(5_000_000, 31_000_000).text(columns: columns)
      let unknown = line(5_000_000, 31_000_000, rate: nil, left: nil).text(columns: columns)
      #expect(known.firstMatch(of: bar).map { String($0.0) } == unknown.firstMatch(of: bar).map { String($0.0) })
    }
  }

  @Test func `a hundred per cent is the whole, and nothing is more`() {
    #expect(line(999_999_999, 1_000_000_000).text(columns: 80).hasPrefix(" 99 % ["))
    #expect(line(1_000_000_000, 1_000_000_000).text(columns: 80).hasPrefix("100 % [====="))
    #expect(line(2_000_000_000, 1_000_000_000).text(columns: 80).hasPrefix("100 % [====="))
    #expect(line(0, 0).text(columns: 80).hasPrefix("100 % ["))
    #expect(line(.max - 1, .max).text(columns: 80).hasPrefix(" 99 % ["))
  }

  @Test func `an unknown total has neither percentage nor bar`() {
    #expect(line(0, nil, rate: 0).text(columns: 80) == "waiting for the server")
    #expect(line(1_300, nil, rate: 900).text(columns: 80) == " 1.3 kB    900 B/s")
  }

  @Test(
    arguments: [
      (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (99_999, "99.9 kB"), (100_000, "100 kB"), (999_999, "999 kB"),
      (1_000_000, "1.0 MB"), (31_049_999, "31.0 MB"), (5_000_000_000, "5.0 GB"), (.max, "9.2 EB"),
    ] as [(Int64, String)])
  func `numbers of bytes are short, and never too large`(count: Int64, text: String) {
    #expect(count.asBytes == text)
  }

  @Test(
    arguments: [
      (0, "0:00"), (8.9, "0:08"), (754, "12:34"), (11_045, "3:04:05"), (359_999, "99:59:59"), (360_000, "4 d"),
    ] as [(Double, String)])
  func `times are as on a clock`(seconds: Double, text: String) {
    #expect(Duration.seconds(seconds).asClock == text)
  }
}

@Suite struct TransferRateTests {
  private func rate(_ samples: (seconds: Double, received: Int64)...) -> TransferRate {
    var rate = TransferRate()
    for sample in samples { rate.note(sample.received, at: .seconds(sample.seconds)) }
    return rate
  }

  @Test func `the rate is that of the last seconds`() {
    #expect(rate((0, 0), (1, 1_000), (2, 2_000)).bytesPerSecond == 1_000)
    var steady = TransferRate()
    for tick in 0..<1_000 { steady.note(Int64(tick) * 100, at: .milliseconds(tick * 100)) }
    // From here on, the rate is a tenth of the rate before.
    for tick in 1_000...1_100 { steady.note(100_000 + Int64(tick - 1_000) * 10, at: .milliseconds(tick * 100)) }
    #expect(steady.bytesPerSecond.map { 99...101 ~= $0 } == true)
  }

  @Test func `bytes of an earlier run do not count for the rate`() {
    #expect(rate((0, 5_000_000), (1, 5_001_000)).bytesPerSecond == 1_000)
  }

  @Test func `the rate is not known at once, nor right after a new beginning`() {
    #expect(rate().bytesPerSecond == nil)
    #expect(rate((0, 0)).bytesPerSecond == nil)
    #expect(rate((0, 0), (0.1, 1_000)).bytesPerSecond == nil)
    #expect(rate((0, 0), (1, 9_000), (1.1, 10)).bytesPerSecond == nil)
    #expect(rate((0, 0), (1, 9_000), (1.1, 0), (2.1, 50)).bytesPerSecond == 50)
  }

  @Test func `time is left only where an end can be foreseen`() {
    let rate = rate((0, 0), (1, 1_000))
    #expect(rate.timeLeft(of: 3_000) == .seconds(2))
    #expect(rate.timeLeft(of: 500) == .zero)
    #expect(rate.timeLeft(of: nil) == nil)
    #expect(self.rate((0, 10), (9, 10)).timeLeft(of: 500) == nil)
  }

  @Test func `the samples of the rate do not grow in an hour`() {
    var rate = TransferRate()
    for tick in 0..<36_000 { rate.note(Int64(tick), at: .milliseconds(tick * 100)) }
    #expect(rate.sampleCount < 60)
  }
}
