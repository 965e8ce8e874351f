import CLibSQLite
import Foundation
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchLog

/// The database of the log: what it keeps, how large it is, and what happens to files that are not a log.
@Suite struct LogStoreTests {
  private static let networks = ["Home", "Office 5 GHz", "Train", "Café \u{1f4f6}"]

  /// Returns the entries of a laptop for some days. Half of the changes are losses. The wall clock begins in 2026.
  private static func entries(days: Int, perDay: Int) -> [LogEntry] {
    var generator = SplitMix(seed: 7)
    let start: Int64 = 1_770_000_000_000_000
    return (0..<days * perDay).map { number in
      let microseconds =
        Int64(number) * (86_400_000_000 / Int64(perDay)) + Int64.random(in: 0..<900_000_000, using: &generator)
      let network = networks[Int.random(in: 0..<4, using: &generator)]
      let state =
        number.isMultiple(of: 2)
        ? LogState(
          status: .wifi, reason: ["route_up", "network_changed", "resumed"][number / 2 % 3], medium: .wifi,
          interface: "wlp0s20f3", ssid: SSID(Array(network.utf8)), isExpensive: network == "Train")
        : LogState(status: .notReachable, reason: ["no_carrier", "no_route", "link_down"][number / 2 % 3])
      return LogEntry(
        LogMoment(
          wall: start + microseconds, monotonic: 4_000_000_000 + microseconds / 2, boot: 4_000_000_000 + microseconds),
        .change(state, count: 1))
    }
  }

  private func place() throws -> (LogPlace, TemporaryFolder) {
    let folder = try TemporaryFolder()
    return (LogPlace(folder: folder.file("netwatch")), folder)
  }

  private func size(_ place: LogPlace) -> Int {
    ["", "-wal"].reduce(0) { sum, suffix in
      sum + ((try? FileManager.default.attributesOfItem(atPath: place.file + suffix)[.size] as? Int) ?? 0)
    }
  }

  @Test func `what is stored is read, with its clocks`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    let moment = LogMoment(wall: 1_795_000_000_123_456, monotonic: 5, boot: 7)
    let state = LogState(
      status: .wwan, reason: "route_up", medium: .wwan, interface: "wwan0", ssid: SSID([0xff, 0, 0x27]),
      isExpensive: true, vpn: "wg0")
    let entries = [
      LogEntry(moment, .change(state, count: 12)), LogEntry(moment, .suspend(99)),
      LogEntry(moment, .change(LogState(status: .notReachable, reason: "a_later_reason"), count: 1)),
    ]
    let traffic = TrafficTally.Sum(day: 20_261_124, interface: "wlan0", received: 10, sent: 4)
    let store = try LogStore.open(place).store
    try store.append(entries, traffic: [traffic])
    try store.append([], traffic: [traffic])
    let contents = try LogContents(reading: place)
    #expect(contents.entries.map(\.entry) == entries)
    #expect(contents.traffic == [TrafficTally.Sum(day: 20_261_124, interface: "wlan0", received: 20, sent: 8)])
    // The writer holds the lock of its run.
    #expect(contents.runs.map(\.isLive) == [true])
  }

  @Test func `carrier losses are stored, and a log without their table gets it`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    let moment = LogMoment(wall: 1_795_000_000_000_000, monotonic: 1, boot: 1)
    let up = LogState(status: .wifi, reason: "route_up", medium: .wired, interface: "eth0")
    let down = LogState(status: .notReachable, reason: "no_carrier")
    let entries = [(up, 0), (down, 1), (up, 3), (down, 0), (down, 20)].map { state, losses in
      LogEntry(moment, .change(state, count: 1, carrierLosses: losses))
    }
    try LogStore.open(place).store.append(entries)
    #expect(try LogContents(reading: place).entries.map(\.entry) == entries)
    try Database(place.file, .write).execute("DROP TABLE carrier")
    // An earlier version has written this.
    let implied = try LogContents(reading: place).entries.map(\.entry)
    #expect(
      implied
        == [(up, 0), (down, 1), (up, 0), (down, 1), (down, 1)].map { state, losses in
          LogEntry(moment, .change(state, count: 1, carrierLosses: losses))
        })
    try LogStore.open(place).store.append(entries)
    #expect(try LogContents(reading: place).entries.map(\.entry) == implied + entries)
    try Database(place.file, .write).execute(
      "DROP TABLE carrier; CREATE VIEW carrier AS SELECT 1 AS entry, 2 AS losses")
    #expect(throws: PlainError.self) { try LogContents(reading: place) }
  }

  @Test func `notes are stored, and a log without their table gets it`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    let moment = LogMoment(wall: 1_795_000_000_000_000, monotonic: 1, boot: 1)
    let change = LogEntry.Content.change(LogState(status: .notReachable, reason: "no_carrier"), count: 1)
    let entries = [nil, "no cable is plugged in", nil].map { LogEntry(moment, change, note: $0) }
    try LogStore.open(place).store.append(entries)
    #expect(try LogContents(reading: place).entries.map(\.entry) == entries)
    try Database(place.file, .write).execute("DROP TABLE note")
    #expect(try LogContents(reading: place).entries.map(\.entry.note) == [nil, nil, nil])
    try LogStore.open(place).store.append(entries)
    #expect(try LogContents(reading: place).entries.suffix(3).map(\.entry) == entries)
    try Database(place.file, .write).execute("DROP TABLE note; CREATE VIEW note AS SELECT 1 AS entry, 'a' AS text")
    #expect(throws: PlainError.self) { try LogContents(reading: place) }
  }

  @Test func `a note is told with its change and with its outage`() throws {
    let note = "the access point has ended the connection (reason 5)"
    func moment(_ second: Int64) -> LogMoment {
      LogMoment(
        wall: 1_795_000_000_000_000 + second * 1_000_000, monotonic: second * 1_000_000, boot: second * 1_000_000)
    }
    let up = LogState(status: .wifi, reason: "route_up", medium: .wifi, interface: "wlan0")
    let down = LogState(status: .notReachable, reason: "no_carrier")
    let entries = [
      LogEntry(moment(0), .change(up, count: 1)), LogEntry(moment(1), .change(down, count: 1)),
      LogEntry(moment(1), .change(down, count: 1), note: note),
      LogEntry(moment(2), .change(down, count: 1), note: "later"),
      LogEntry(moment(3), .change(up, count: 1)),
    ]
    let (text, records) = (LogText(isUnicode: false), LogRecords())
    #expect(text.line(entries[2]).hasSuffix("no carrier, \(note)"))
    #expect(records.json(entries[2]).contains("\"note\":\"\(note)\""))
    #expect(!records.json(entries[1]).contains("note"))
    #expect(records.csv(entries[2]).hasSuffix(",\(note)"))
    var history = RunHistory()
    for entry in entries { history.add(entry) }
    let outage = try #require(history.outages.first)
    #expect(history.outages.count == 1)
    // The first one is the cause.
    #expect(outage.note == note)
    #expect(text.line(outage).contains(note))
    #expect(records.json(outage).contains("\"note\":\"\(note)\""))
    #expect(records.csv(outage).hasSuffix(",\(note)"))
    #expect(entries.merged(to: 2).first?.note == "later")
  }

  @Test(arguments: 0..<40 as Range<UInt64>) func `a part of the log has the same history as the whole`(_ seed: UInt64)
    throws
  {
    let (place, folder) = try place()
    defer { _ = folder }
    var random = SplitMix(seed: seed)
    let states = [
      LogState(status: .notReachable, reason: "no_carrier"), LogState(status: .notReachable, reason: "no_route"),
      LogState(status: .wifi, reason: "route_up", medium: .wired, interface: "eth0"),
      LogState(status: .wwan, reason: "medium_changed", medium: .wwan, interface: "wwan0"),
      LogState(status: .unknown, reason: "unresolved"),
    ]
    var hours: Int64 = 0
    let start: Int64 = 1_795_000_000_000_000
    func moment() -> LogMoment {
      LogMoment(wall: start + hours * 3_600_000_000, monotonic: hours * 3_600_000_000, boot: hours * 3_600_000_000)
    }
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      // Up to three writers at once, of which each has seen another part.
      var stores = try (0..<Int.random(in: 1...3, using: &random)).map { _ in try LogStore.open(place).store }
      for _ in 0..<Int.random(in: 0...12, using: &random) {
        hours += Int64.random(in: 1...9, using: &random)
        let content: LogEntry.Content =
          Int.random(in: 0..<6, using: &random) == 0
          ? .suspend(1_800_000_000)
          : .change(states.randomElement(using: &random) ?? states[0], count: Int64.random(in: 1...2, using: &random))
        try stores.randomElement(using: &random)?.append([LogEntry(moment(), content)])
      }
      stores = []
      hours += 1
    }
    let whole = try LogContents(reading: place)
    for hour in stride(from: Int64(0), through: hours + 2, by: 3) {
      let since = start + hour * 3_600_000_000 + 1
      let part = try LogContents(reading: place, since: since)
      #expect(part.entries(since: since) == whole.entries(since: since))
      #expect(part.history.since(since).outages == whole.history.since(since).outages)
      #expect(part.history.since(since).spans == whole.history.since(since).spans)
    }
  }

  @Test func `a day out of a year is read without the rest`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    let entries = Self.entries(days: 365, perDay: 50)
    try LogStore.open(place).store.append(entries)
    let day = try LogContents(reading: place, since: entries[364 * 50].moment.wall)
    // The day, and the outage before it with its beginning.
    #expect(day.entries.map(\.entry) == Array(entries.suffix(52)))
  }

  @Test func `a year of 50 changes a day has at most 1 MB`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    let entries = Self.entries(days: 365, perDay: 50)
    let store = try LogStore.open(place).store
    for start in stride(from: 0, to: entries.count, by: 50) { try store.append(Array(entries[start..<start + 50])) }
    #expect(try LogContents(reading: place).entries.count == 365 * 50)
    let bytes = size(place)
    print("A year of 50 changes a day has \(bytes) bytes.")
    #expect(bytes <= 1_000_000)
  }

  @Test func `the size limit drops the oldest and is never exceeded`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    let limit: Int64 = 2_000_000
    let store = try LogStore.open(place, sizeLimit: limit).store
    let entries = Self.entries(days: 400, perDay: 200)
    var largest = 0
    for start in stride(from: 0, to: entries.count, by: 500) {
      try store.append(Array(entries[start..<start + 500]))
      largest = max(largest, size(place))
    }
    let kept = try LogContents(reading: place).entries.map(\.entry)
    print(
      "With a limit of \(limit) bytes it had \(largest) at most, and keeps \(kept.count) of \(entries.count) changes.")
    #expect(largest <= limit)
    #expect(kept.count > 15_000 && kept.count < entries.count)
    #expect(kept == entries.suffix(kept.count))
  }

  @Test func `a state that another writer has dropped is stored again`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    let limit: Int64 = 1_500_000
    let (store, other) = try (
      LogStore.open(place, sizeLimit: limit).store, LogStore.open(place, sizeLimit: limit).store
    )
    let entries = Self.entries(days: 400, perDay: 100)
    let state = LogState(
      status: .wwan, reason: "route_up", medium: .wwan, interface: "wwan9", ssid: nil, isExpensive: true)
    try other.append([LogEntry(entries[0].moment, .change(state, count: 1))])
    for start in stride(from: 0, to: entries.count, by: 500) { try store.append(Array(entries[start..<start + 500])) }
    #expect(try LogContents(reading: place).entries.first?.entry.content != .change(state, count: 1))
    let last = LogEntry(entries[entries.count - 1].moment, .change(state, count: 1))
    try other.append([last])
    #expect(try LogContents(reading: place).entries.last?.entry == last)
  }

  /// A network may have any name. In this one, a quote and the mark behind it are one character of Swift.
  @Test func `a name is one cell of CSV, whatever it is`() {
    let name = "\"\u{301},=1+1,\"\u{301}"
    let state = LogState(
      status: .wifi, reason: "route_up", medium: .wifi, interface: "wlan0", ssid: SSID(Array(name.utf8)),
      isExpensive: false)
    let row = LogRecords().csv(LogEntry(LogMoment(wall: 0, monotonic: 0, boot: 0), .change(state, count: 1)))
    var (cells, isQuoted): ([[UInt8]], Bool) = ([[]], false)
    for byte in row.utf8 {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if byte == UInt8(ascii: ","), !isQuoted { cells.append([]) } else { cells[cells.count - 1].append(byte) }
    }
    #expect(cells.count == 16)
    let quoted = name.unicodeScalars.map { $0 == "\"" ? "\"\"" : String($0) }.joined()
    #expect(cells[5] == Array("\"\(quoted)\"".utf8))
  }

  @Test func `two writers at once lose nothing`() async throws {
    let (place, folder) = try place()
    defer { _ = folder }
    let entries = Self.entries(days: 2, perDay: 100)
    await withTaskGroup { group in
      for _ in 0..<2 {
        group.addTask {
          do {
            let store = try LogStore.open(place).store
            for entry in entries { try store.append([entry]) }
          } catch {
            Issue.record("\(error)")
          }
        }
      }
    }
    let contents = try LogContents(reading: place)
    #expect(contents.runs.count == 2)
    for run in contents.runs { #expect(contents.entries.filter { $0.run == run.id }.map(\.entry) == entries) }
    #expect(contents.runs.allSatisfy { !$0.isLive })
  }

  @Test func `of two writers one counts the traffic`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    let sum = TrafficTally.Sum(day: 20_261_124, interface: "wlan0", received: 10, sent: 4)
    let (first, second) = (try LogStore.open(place).store, try LogStore.open(place).store)
    try first.append([], traffic: [sum])
    try second.append([], traffic: [sum])
    #expect(try LogContents(reading: place).traffic == [sum])
  }

  // MARK: Files that are no log

  @Test(arguments: [0, 100, 4_096])
  func `a damaged file is moved aside, and a new log begins`(position: Int) throws {
    let (place, folder) = try place()
    defer { _ = folder }
    do { try LogStore.open(place).store.append(Self.entries(days: 10, perDay: 50)) }
    var bytes = try Data(contentsOf: URL(filePath: place.file))
    bytes.replaceSubrange(position..<position + 3_000, with: Data(repeating: 0xa5, count: 3_000))
    try bytes.write(to: URL(filePath: place.file))
    let opening = try LogStore.open(place)
    let warning = try #require(opening.warning)
    #expect(warning.hasPrefix("the log '\(place.file)' was damaged and renamed to '\(place.file).damaged-"))
    try opening.store.append(Self.entries(days: 1, perDay: 3))
    #expect(try LogContents(reading: place).entries.count == 3)
    let aside = try FileManager.default.contentsOfDirectory(atPath: place.folder).filter {
      $0.contains("damaged") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
    }
    #expect(aside.count == 1)
    #expect(try Data(contentsOf: URL(filePath: "\(place.folder)/\(aside[0])")) == bytes)
  }

  @Test func `a database of another program is left as it is`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    try FileManager.default.createDirectory(atPath: place.folder, withIntermediateDirectories: true)
    do { try Database(place.file, .write).execute("CREATE TABLE recipes (name TEXT)") }
    let before = try Data(contentsOf: URL(filePath: place.file))
    let error = #expect(throws: PlainError.self) { _ = try LogStore.open(place) }
    #expect(error?.description.hasPrefix("'\(place.file)' is a database of another program") == true)
    #expect(throws: PlainError.self) { _ = try LogContents(reading: place) }
    #expect(try Data(contentsOf: URL(filePath: place.file)) == before)
  }

  @Test func `a log of a later version is left as it is`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    do { _ = try LogStore.open(place) }
    do { try Database(place.file, .write).execute("PRAGMA user_version=2") }
    let error = #expect(throws: PlainError.self) { _ = try LogStore.open(place) }
    #expect(error?.description.contains("a later version of netwatch") == true)
  }

  @Test func `a reader without a log, or with a damaged one, gets one sentence`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    #expect(throws: PlainError.self) { _ = try LogContents(reading: place) }
    try FileManager.default.createDirectory(atPath: place.folder, withIntermediateDirectories: true)
    try Data(repeating: 0x41, count: 9_000).write(to: URL(filePath: place.file))
    let error = #expect(throws: PlainError.self) { _ = try LogContents(reading: place) }
    #expect(
      error?.description
        == "'\(place.file)' is no log, or a damaged one; if --log writes it, it is moved aside then and a new one begins"
    )
    #expect(try Data(contentsOf: URL(filePath: place.file)).count == 9_000)
  }

  @Test func `no bytes of a file can harm the reader`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    do { try LogStore.open(place).store.append(Self.entries(days: 3, perDay: 20)) }
    let good = try Data(contentsOf: URL(filePath: place.file))
    var generator = SplitMix(seed: 9)
    for _ in 0..<FuzzRounds.count(default: 100) {
      var bytes = good
      for _ in 0..<Int.random(in: 1...20, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        bytes[place] = UInt8.random(in: 0...255, using: &generator)
      }
      try bytes.write(to: URL(filePath: place.file))
      if let contents = try? LogContents(reading: place) { try LogOutputs(contents).check() }
    }
  }

  /// The values in a file may also be a stranger's: numbers of any size, and names of any bytes.
  @Test func `no value of a file can harm the reader`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    do { _ = try LogStore.open(place) }
    var generator = SplitMix(seed: 10)
    let edges: [Int64] = [.min, .min + 1, -1, 0, 1, 2, 999_999, LogMoment.latest - 1, LogMoment.latest, .max - 1, .max]
    let texts = LogOutputs.names + ["wifi", "not-reachable", "unknown", "wwan", "wired", "initial", "no_carrier", ""]
    for round in 0..<FuzzRounds.count(default: 60) {
      let database = try Database(place.file, .write)
      func number() -> Statement.Value {
        let any = generator.next()
        return .integer(
          any.isMultiple(of: 4)
            ? Int64(truncatingIfNeeded: generator.next())
            : any.isMultiple(of: 3) ? Int64(any >> 12) : edges[Int.random(in: 0..<edges.count, using: &generator)])
      }
      func text() -> Statement.Value {
        let text = texts[Int.random(in: 0..<texts.count, using: &generator)]
        return generator.oneIn(8) ? number() : generator.oneIn(4) ? .bytes(Array(text.utf8.prefix(32))) : .text(text)
      }
      try database.inTransaction { () throws(DatabaseError) in
        try database.execute(
          "DELETE FROM entry; DELETE FROM state; DELETE FROM run; DELETE FROM traffic; DELETE FROM carrier")
        for _ in 0..<12 {
          try database.prepare("INSERT OR IGNORE INTO state VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)")
            .run([text(), text(), text(), text(), text(), number(), text()])
        }
        // The first rounds have many entries, so that sums become large.
        for _ in 0..<(round < 3 ? 3_000 : 60) {
          let state = Int64.random(in: 0...12, using: &generator)
          try database.prepare("INSERT INTO entry VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)")
            .run([
              .integer(Int64.random(in: 1...2, using: &generator)), number(), number(), number(), .integer(state),
              number(), number(),
            ])
          try database.prepare("INSERT INTO carrier VALUES (last_insert_rowid(), ?)").run(number())
        }
        for id in 1...2 as ClosedRange<Int64> {
          try database.prepare("INSERT INTO run VALUES (?, ?, ?)").run([.integer(id), number(), number()])
        }
        for _ in 0..<8 {
          try database.prepare("INSERT OR IGNORE INTO traffic VALUES (?, ?, ?, ?)")
            .run([number(), text(), number(), number()])
        }
      }
      try LogOutputs(LogContents(reading: place)).check()
      // The writer adds to numbers that are already the largest.
      let sum = TrafficTally.Sum(day: 20_261_124, interface: "wlan0", received: .max, sent: .max)
      let store = try LogStore.open(place).store
      try store.append(Self.entries(days: 1, perDay: 4), traffic: [sum])
      try store.append([], traffic: [sum])
      let total = try LogContents(reading: place).traffic.first { $0.day == sum.day && $0.interface == sum.interface }
      #expect(total?.received == .max && total?.sent == .max)
    }
  }

  // MARK: Schemas that somebody else has written

  /// Statements that a test runs on a log. The tables then still have their names and columns, but the reader must not
  /// run what the schema contains.
  private static let crafted = [
    "DROP TABLE entry; CREATE VIEW entry AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
      + "SELECT i AS id, 1 AS run, 1 AS time_us, 1 AS mono_us, 1 AS boot_us, 1 AS state, 1 AS changes, 1 AS suspend_us FROM n",
    "DROP TABLE run; CREATE TABLE run (id INTEGER PRIMARY KEY, seen_us INTEGER NOT NULL, "
      + "seen_mono_us GENERATED ALWAYS AS (length(hex(zeroblob(400000000)))))",
    "DROP TABLE traffic; CREATE VIRTUAL TABLE traffic USING fts5(day, interface, received, sent)",
    "DROP TABLE traffic; CREATE TABLE traffic (day, interface, received, sent CHECK (length(zeroblob(900000000)) > 0))",
    "DROP TABLE state",
  ]

  @Test(arguments: crafted) func `a schema that netwatch has not made is not used`(_ statements: String) throws {
    let (place, folder) = try place()
    defer { _ = folder }
    do { try LogStore.open(place).store.append(Self.entries(days: 1, perDay: 4)) }
    try Self.run(statements, on: place.file)
    let sentence =
      "the log '\(place.file)' has tables that netwatch has not made; move it away, so that a new log can begin"
    #expect(#expect(throws: PlainError.self) { _ = try LogContents(reading: place) }?.description == sentence)
    #expect(#expect(throws: PlainError.self) { _ = try LogStore.open(place) }?.description == sentence)
  }

  /// A trigger is stored beside the tables. Without a protection, it would run whenever netwatch writes.
  @Test func `a trigger does not run, and a view beside the tables is left alone`() throws {
    let (place, folder) = try place()
    defer { _ = folder }
    let entries = Self.entries(days: 1, perDay: 4)
    do { try LogStore.open(place).store.append(Array(entries.prefix(2))) }
    try Self.run(
      "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END; CREATE VIEW mine AS SELECT * FROM entry",
      on: place.file)
    try LogStore.open(place).store.append(Array(entries.suffix(2)))
    #expect(try LogContents(reading: place).entries.map(\.entry) == entries)
    let database = try Database(place.file, .write)
    #expect(throws: DatabaseError.self) { _ = try database.number("SELECT count(*) FROM mine") }
    #expect(throws: DatabaseError.self) {
      try database.execute("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = ''")
    }
    #expect(throws: DatabaseError.self) { _ = try database.number("SELECT length(zeroblob(2000000))") }
    #expect(throws: DatabaseError.self) { try database.execute("ATTACH ':memory:' AS other") }
  }

  /// Runs statements as another program would, without netwatch's limits.
  private static func run(_ statements: String, on file: String) throws {
    var connection: OpaquePointer?
    try #require(unsafe sqlite3_open(file, &connection) == SQLITE_OK)
    defer { unsafe sqlite3_close(connection) }
    let code = unsafe sqlite3_exec(connection, statements, nil, nil, nil)
    try #require(code == SQLITE_OK, "\(unsafe String(cString: sqlite3_errmsg(connection)))")
  }

  // MARK: Entries that wait

  @Test func `the oldest entries become one that says how many`() {
    let entries = Self.entries(days: 1, perDay: 10)
    let merged = entries.merged(to: 4)
    #expect(merged.count == 4)
    #expect(merged.suffix(3) == entries.suffix(3))
    guard case .change(let state, 7, _) = merged[0].content, case .change(let last, _, _) = entries[6].content else {
      Issue.record("\(merged[0])")
      return
    }
    #expect(state == last && merged[0].moment == entries[6].moment)
    #expect(entries.merged(to: 10) == entries)
  }
}
