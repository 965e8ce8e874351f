import Foundation
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchFleet

/// The lines that wait for the broker, on the disk.
@Suite struct LineSpoolTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/spool" }

  init() throws { folder = try TemporaryFolder() }

  private static func line(_ number: Int64, text: String = "{}") -> WaitingLine {
    WaitingLine(FleetLine(run: FleetRun("00c0ffee")!, number: number, content: .line(Array(text.utf8))))
  }

  private var stored: [Int64] { get throws { try LineSpool(path).read(at: .zero).map(\.number) } }

  @Test func `lines are there again in a later run, without those that the broker has`() throws {
    let spool = LineSpool(path)
    #expect(try spool.read(at: .zero).isEmpty)
    let all = (1...5).map { Self.line($0) }
    spool.append(all[0..<3], of: all[0..<3], at: .zero)
    spool.append(all[3..<5], of: all[...], at: .zero)
    #expect(try stored == [1, 2, 3, 4, 5])
    spool.removeFirst(5, of: [], at: .zero)
    #expect(folder.text(of: "spool") == "")
    let more = [Self.line(6)]
    spool.append(more, of: more[...], at: .zero)
    #expect(try stored == [6])
  }

  @Test func `a line that was being written at a loss of power is left out`() throws {
    let spool = LineSpool(path)
    _ = try spool.read(at: .zero)
    let all = (1...3).map { Self.line($0) }
    spool.append(all, of: all[...], at: .zero)
    let whole = try Data(contentsOf: URL(filePath: path))
    for length in 0...whole.count {
      try whole.prefix(length).write(to: URL(filePath: path))
      let read = try LineSpool(path).read(at: .zero)
      #expect(read.map(\.number) == Array(1...3).prefix(read.count).map { Int64($0) })
      #expect(read.allSatisfy { all.contains($0) })
    }
  }

  @Test func `the file does not grow with what the broker has`() throws {
    let spool = LineSpool(path)
    _ = try spool.read(at: .zero)
    var all: ArraySlice<WaitingLine> = []
    for number in 1...3_000 {
      all.append(Self.line(Int64(number), text: "\"\(String(repeating: "x", count: 1_000))\""))
      spool.append(all.suffix(1), of: all, at: .zero)
      if all.count > 10 {
        all = all.dropFirst()
        spool.removeFirst(1, of: all, at: .zero)
      }
    }
    var facts = stat()
    #expect(unsafe stat(path, &facts) == 0 && facts.st_size < 600_000)
    // Those that the broker has may be told again; their identity says so.
    #expect(try stored.suffix(all.count) == all.map(\.number))
  }

  @Test func `lines that the disk does not take wait in memory, and are written later`() throws {
    let other = folder.path + "/later/spool"
    let spool = LineSpool(other)
    #expect(try spool.read(at: .zero).isEmpty)
    let all = (1...3).map { Self.line($0) }
    spool.append(all[0..<2], of: all[0..<2], at: .zero)
    #expect(spool.isBehind)
    try FileManager.default.createDirectory(atPath: folder.path + "/later", withIntermediateDirectories: false)
    // Not each line tries to write all of them.
    spool.append(all[2..<3], of: all[...], at: .seconds(9))
    #expect(spool.isBehind && FileManager.default.fileExists(atPath: other) == false)
    spool.catchUp(all[...], at: .seconds(10))
    #expect(try LineSpool(other).read(at: .zero).map(\.number) == [1, 2, 3] && !spool.isBehind)
  }

  @Test func `a spool that cannot be read is not overwritten`() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    #expect(throws: PlainError.self) { try LineSpool(path).read(at: .zero) }
  }
}
