import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Records of transfers, as they lie on the disk.
@Suite struct TransferRecordTests {
  private static var record: TransferRecord {
    get throws {
      var request = try HTTPRequest(.get, to: #require(URL(string: "https://example.org:8443/a%20b?c=d")))
      request.headerFields[.accept] = "text/plain"
      var record = TransferRecord(id: "12-0123abcd", kind: .download, request: request, file: "/home/eva/it", made: 1e9)
      (record.conditions.notBefore, record.conditions.media, record.priority) = (2e9, ["wifi"], -1)
      record.settings.timeout = 60
      record.settings.pinning = .init(pinsCertificates: false, certificates: [Data([1])], keys: ["sha256/AAA="])
      record.end = .init(HTTPError(.fileFailed, "open", code: 2, message: "gone"), at: 3e9)
      return record
    }
  }

  private static func encoded(_ record: TransferRecord) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(record)
  }

  @Test func `a record is read as it was written`() throws {
    let record = try Self.record
    let read = try JSONDecoder().decode(TransferRecord.self, from: Self.encoded(record))
    #expect(read == record)
    #expect(read.request == record.request && read.request.path == "/a%20b?c=d")
    #expect(read.end?.error(of: read.request)?.kind == .fileFailed)
  }

  @Test(arguments: ["12-0123abcd", "1-00000000", "123456789012345-ffffffff"])
  func `an id has a number`(_ id: String) { #expect(TransferRecord.number(of: id) != nil) }

  @Test(
    arguments: [
      "", "-", "12", "12-", "-0123abcd", "x-0123abcd", "12-0123ABCD", "12-0123abc", "12-0123abcde", "+1-0123abcd",
      "1-2-0123abcd", "../1-0123abcd", "1234567890123456-0123abcd", "\u{661}-0123abcd",
    ])
  func `anything else is no id`(_ id: String) { #expect(TransferRecord.number(of: id) == nil) }

  /// What a file says may be anything, because programs and disks have faults.
  @Test func `ten thousand damaged records do no harm`() throws {
    try StateFolder.use()
    let spool = try TransferSpool("fuzz")
    let whole = Array(try Self.encoded(Self.record))
    var random = SplitMix(seed: 59)
    let pieces = ["-", "1e308", "9223372036854775807", "null", "[]", "{}", "\"", "\\", "true", ",", "\u{0}"].map {
      Array($0.utf8)
    }
    var survivors = 0
    for _ in 0..<10_000 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let length = min(Int.random(in: 0...20, using: &random), bytes.count - place)
        bytes.replaceSubrange(place..<(place + length), with: pieces.randomElement(using: &random) ?? [])
      }
      guard let record = try? JSONDecoder().decode(TransferRecord.self, from: Data(bytes)), record.isSound else {
        continue
      }
      survivors += 1
      _ = (record.request, record.draft, record.folder, record.mayRepeat, record.settings.silence, record.number)
      _ = record.end?.error(of: record.request)
      var queue = TransferQueue()
      var surroundings = TransferQueue.Surroundings()
      surroundings.hasPath = true
      _ = queue.handle(.changed(surroundings), at: .zero, wall: 1e9)
      _ = queue.handle(.found([TransferQueue.Item(record, in: "s")]), at: .zero, wall: 1e9)
      _ = "\(record.standing(surroundings, in: spool))"
    }
    #expect(survivors > 100)
  }

  @Test func `what was left by a program that was killed is removed after a day, and nothing else`() throws {
    try StateFolder.use()
    let spool = try TransferSpool("orphans")
    defer { try? FileManager.default.removeItem(atPath: spool.folder) }
    func make(_ name: String, daysAgo days: Double = 2) throws {
      let path = "\(spool.folder)/\(name)"
      try Data("x".utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -days * 86_400)], ofItemAtPath: path)
    }
    var names: [String] {
      get throws { try FileManager.default.contentsOfDirectory(atPath: spool.folder).filter { $0 != "lock" }.sorted() }
    }
    let record = try spool.insert { id throws(HTTPError) in
      var record = TransferRecord(
        id: id, kind: .upload, request: HTTPRequest(url: URL(string: "https://a/b")!),
        file: "\(spool.folder)/5.spooled",
        made: 0)
      record.isSpooled = true
      return record
    }
    for name in ["5.spooled", "6.spooled", "6.spooled.part", "90-0123abcd.new", "note.txt", "\(record.id).answer"] {
      try make(name)
    }
    try make("7.spooled", daysAgo: 0.9)
    let all = try names
    // A record that cannot be read may name any of them.
    try make("80-0123abcd.json")
    try spool.removeOrphans()
    try FileManager.default.removeItem(atPath: spool.path("80-0123abcd", "json"))
    #expect(try names == all)
    try spool.removeOrphans()
    #expect(try names == ["\(record.id).answer", "\(record.id).json", "5.spooled", "7.spooled", "note.txt"].sorted())
  }
}
