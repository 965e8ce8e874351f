import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchCLI

/// What `netwatch top` shows and writes.
@Suite struct ProgramTableTests {
  private static func program(
    _ name: String?, _ user: UInt32 = 1_000, _ received: UInt64, _ sent: UInt64, rates: (UInt64, UInt64)? = nil,
    inFlight: Int = 0
  ) -> ProgramFigures.Program {
    var program = ProgramFigures.Program(name: name, user: user)
    program.traffic = .init(received: received, sent: sent)
    program.traffic.receivedBitsPerSecond = rates?.0
    program.traffic.sentBitsPerSecond = rates?.1
    program.inFlight = inFlight
    return program
  }

  private static var figures: ProgramFigures {
    var figures = ProgramFigures()
    figures.programs = [
      program("ssh", 1_000, 90, 12, rates: (0, 8), inFlight: 1),
      program("網路瀏覽器", 4_294_967_295, 5_000_000, 1_200_000, rates: (1_200_000, 12_000), inFlight: 12),
      program(nil, 0, .max, .max, rates: (.max, .max)),
      program("a\u{1b}[2Jb\nc", 1_000, 7, 7),
    ]
    figures.shortLived = .init(received: 90_000, sent: 12_000)
    figures.other = .init(received: 8_100, sent: 2_000)
    figures.overruns = 3
    return figures
  }

  @Test(arguments: 1...200)
  func `no line is wider than the terminal, and figures stand beneath each other`(width: Int) {
    for order in ProgramTable.Order.allCases {
      let table = ProgramTable(width: width, usesColor: false, isUnicode: true)
      let lines = table.lines(Self.figures, by: order)
      #expect(lines.count == 8)
      #expect(lines.allSatisfy { $0.columns <= width }, "\(lines)")
      #expect(Set(lines.dropLast().map(\.columns)).count == 1)
      #expect(table.keys(order).columns <= width)
      #expect(!lines.joined().unicodeScalars.contains { $0.value < 0x20 })
    }
  }

  @Test func `a table in full`() {
    var figures = Self.figures
    figures.overruns = 0
    let table = ProgramTable(width: nil, usesColor: false, isUnicode: true)
    #expect(
      table.lines(figures, by: .all) == [
        "PROGRAM           RX b/s  TX b/s  RX B  TX B  CONN         UID",
        "(unknown)            18E     18E   18E   18E     0           0",
        "網路瀏覽器          1.2M     12k  5.0M  1.2M    12  4294967295",
        "ssh                   0       8    90    12      1        1000",
        "a?[2Jb?c              -       -     7     7      0        1000",
        "short-lived           -       -    90k   12k                  ",
        "other (estimate)      -       -   8.1k  2.0k                  ",
      ])
    let bytes = ProgramTable(.bytes, width: nil, usesColor: false, isUnicode: true).lines(figures, by: .all)
    #expect(bytes[0] == "PROGRAM           RX B/s  TX B/s  RX B  TX B  CONN         UID")
    #expect(bytes[2].contains("150k") && bytes[2].contains("1.5k"))
    let coloured = ProgramTable(width: 40, usesColor: true, isUnicode: true).lines(figures, by: .all)
    #expect(coloured[0].hasPrefix("\u{1b}[1mPROGRAM"))
  }

  @Test(arguments: [
    (ProgramTable.Order.all, ["(unknown)", "網路瀏覽器", "ssh", "a?[2Jb?c"]),
    (.received, ["(unknown)", "網路瀏覽器", "ssh", "a?[2Jb?c"]), (.sent, ["(unknown)", "網路瀏覽器", "ssh", "a?[2Jb?c"]),
    (.connections, ["網路瀏覽器", "ssh", "a?[2Jb?c", "(unknown)"]),
    (.name, ["a?[2Jb?c", "ssh", "網路瀏覽器", "(unknown)"]),
  ])
  func `rows are sorted`(_ order: ProgramTable.Order, _ names: [String]) {
    let lines = ProgramTable(width: 40, usesColor: false, isUnicode: true).lines(Self.figures, by: order)
    for (line, name) in zip(lines.dropFirst(), names) { #expect(line.hasPrefix(name), "\(lines)") }
  }

  @Test func `what does not fit beneath each other is left out, but not the sums`() {
    let table = ProgramTable(width: 60, usesColor: false, isUnicode: false)
    let lines = table.lines(Self.figures, by: .all, height: 5)
    #expect(lines.map { $0.split(separator: " ").first } == ["PROGRAM", "(unknown)", "short-lived", "other", "The"])
    for height in 0...6 { #expect(table.lines(Self.figures, by: .all, height: height).count == max(height, 1)) }
  }

  @Test func `rows of processes have their IDs, and rows of units their names`() {
    var figures = ProgramFigures()
    figures.programs = [
      .init(name: "nginx", user: 33, process: 4_711), .init(name: "nginx", user: 33), .init(name: nil, user: 0),
    ]
    func table(_ grouping: ProgramFigures.Grouping) -> [String] {
      ProgramTable(by: grouping, width: 60, usesColor: false, isUnicode: true).lines(figures, by: .name)
        .map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    }
    #expect(table(.pid).prefix(4) == ["PROGRAM PID", "nginx 4711", "nginx -", "(unknown) -"])
    #expect(Self.line(figures, by: .pid).contains(#"{"name":"nginx","pid":4711,"uid":33,"#))
    #expect(Self.line(figures, by: .pid).contains(#"{"name":null,"pid":null,"uid":0,"#))
    figures.programs = [.init(name: nil, user: 33, unit: "web.service"), .init(name: nil, user: 0)]
    #expect(table(.unit).prefix(3) == ["UNIT RX", "web.service -", "(unknown) -"])
    #expect(Self.line(figures, by: .unit).contains(#"{"name":null,"unit":"web.service","uid":33,"#))
    #expect(Self.line(figures, by: .unit).contains(#"{"name":null,"unit":null,"uid":0,"#))
  }

  private static func line(_ figures: ProgramFigures, by grouping: ProgramFigures.Grouping = .name) -> String {
    var buffer = LineBuffer()
    buffer.append(figures, by: grouping, nanosecondsSince1970: 1_764_000_000_123_456_789)
    keepLine(buffer.text, of: "top")
    return buffer.text
  }

  @Test func `a line of JSON`() {
    #expect(
      Self.line(Self.figures) == #"""
        {"v":1,"time":"2025-11-24T16:00:00.123456Z","programs":[{"name":"ssh","uid":1000,"rx_bytes":90,"tx_bytes":12,"rx_bps":0,"tx_bps":8,"in_flight":1},{"name":"網路瀏覽器","uid":4294967295,"rx_bytes":5000000,"tx_bytes":1200000,"rx_bps":1200000,"tx_bps":12000,"in_flight":12},{"name":null,"uid":0,"rx_bytes":18446744073709551615,"tx_bytes":18446744073709551615,"rx_bps":18446744073709551615,"tx_bps":18446744073709551615,"in_flight":0},{"name":"a\u001b[2Jb\u000ac","uid":1000,"rx_bytes":7,"tx_bytes":7,"rx_bps":null,"tx_bps":null,"in_flight":0}],"short_lived":{"rx_bytes":90000,"tx_bytes":12000},"other":{"rx_bytes":8100,"tx_bytes":2000},"overruns":3}

        """#)
    #expect(
      Self.line(ProgramFigures()).hasSuffix(
        #""programs":[],"short_lived":{"rx_bytes":0,"tx_bytes":0},"other":null,"overruns":0}"# + "\n"))
  }
}
