import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchStream

@Suite(.timeLimit(.minutes(3))) struct EventServerTests {
  @Test func `the whole state comes at once, then each change`() throws {
    let service = try TestService()
    let reader = try TestClient(service)
    let first = try #require(reader.line())
    keepLine(first, of: "event")
    #expect(first.contains(#""event":"initial","reason":"initial""#))
    let writer = try TestClient(service)
    writer.write(#"{"begin":"a","label":"upload"}"# + "\n")
    let begun = try #require(reader.event())
    #expect((begun.event, begun.activityReason) == (.activity, .requestBegan))
    #expect((begun.activity.state, begun.activity.inFlight) == (.delayingStart, 1))
    writer.write(#"{"end":"a"}"# + "\n")
    #expect(reader.event()?.activity.inFlight == 0)
  }

  @Test func `a client that goes takes its requests with it`() throws {
    let service = try TestService()
    let reader = try TestClient(service)
    do {
      let writer = try TestClient(service)
      for id in 0..<100 { writer.write("{\"begin\":\"\(id)\"}\n") }
      #expect(reader.event(inFlight: 100) != nil)
    }
    #expect(reader.event(inFlight: 0) != nil)
  }

  @Test func `a client that changes its mind again and again does not keep the kernel busy`() throws {
    let service = try TestService(by: ManualClock())
    let client = try TestClient(service)
    _ = client.line()
    for _ in 0..<500 {
      client.write("{\"quality\":true}\n{\"quality\":false}\n{\"bssid\":true}\n{\"signal\":true}\n{\"bssid\":false}\n")
    }
    client.write("{\"events\":false}\n{\"ping\":1}\n")
    while let line = client.line(), !line.contains("pong") {}
    #expect(service.asked.quality == 1)
    // This many questions are allowed within a second, and no time has passed.
    #expect(service.asked.wifi == 8)
  }

  @Test func `a client that has to wait for the WiFi network is not forgotten`() throws {
    let clock = ManualClock()
    let service = try TestService(by: clock)
    let client = try TestClient(service)
    _ = client.line()
    for _ in 0..<20 { client.write("{\"bssid\":true}\n") }
    client.write("{\"ping\":1}\n")
    #expect(client.line() == #"{"v":1,"pong":1}"#)
    #expect(service.asked.wifi == 8)
    clock.advance(by: .milliseconds(124))
    client.write("{\"ping\":1}\n")
    #expect(client.line() == #"{"v":1,"pong":1}"#)
    #expect(service.asked.wifi == 8)
    clock.advance(by: .milliseconds(1))
    try eventually(service.asked.wifi) { $0 == 9 }
    // No client waits any more.
    clock.advance(by: .seconds(1))
    client.write("{\"ping\":1}\n")
    #expect(client.line() == #"{"v":1,"pong":1}"#)
    #expect(service.asked.wifi == 9)
  }

  @Test func `the service rests a second after its last client has gone, unless another one comes`() throws {
    let clock = ManualClock()
    let service = try TestService(by: clock)
    func visit() throws {
      let client = try TestClient(service)
      #expect(client.line() != nil)
      // A client is connected, so no timer for the service's rest runs.
      #expect(try service.nextDeadline == nil)
    }
    try visit()
    try eventually(service.nextDeadline) { $0 == .seconds(1) }
    clock.advance(by: .milliseconds(999))
    try visit()
    try eventually(service.nextDeadline) { $0 == .milliseconds(1_999) }
    #expect(service.restCount == 0)
    clock.advance(by: .seconds(1))
    try eventually(service.restCount) { $0 == 1 }
    #expect(try service.nextDeadline == nil)
  }

  @Test func `the same id on two connections stands for two requests`() throws {
    let service = try TestService()
    let reader = try TestClient(service)
    let (first, second) = (try TestClient(service), try TestClient(service))
    first.write("{\"begin\":\"a\"}\n")
    second.write("{\"begin\":\"a\"}\n{\"begin\":\"a\"}\n")
    #expect(reader.event(inFlight: 2) != nil)
    second.write("{\"end\":\"a\"}\n{\"end\":\"a\"}\n")
    #expect(reader.event(inFlight: 1) != nil)
  }

  @Test func `ping, stats and a line that is no JSON are answered`() throws {
    let service = try TestService()
    let client = try TestClient(service)
    _ = client.line()
    client.write("{\"ping\":1}\n{\"stats\":1}\n")
    #expect(client.line() == #"{"v":1,"pong":1}"#)
    #expect(
      client.line()
        == #"{"v":1,"stats":{"transitions":5,"netlink_overruns":6,"subscribers":1,"requests":0,"labels":[]}}"#)
    client.write("{\"events\":false}\n{\"stats\":1}\nwhat?\n")
    #expect(client.line()?.contains(#""subscribers":0"#) == true)
    #expect(client.line()?.hasPrefix(#"{"v":1,"error":""#) == true)
    client.write("{\"ping\":1}\n")
    #expect(client.line() == #"{"v":1,"pong":1}"#)
  }

  @Test func `an end before its begin is an error and forgotten, and a later begin counts`() throws {
    let service = try TestService()
    let reader = try TestClient(service)
    _ = reader.line()
    let client = try TestClient(service)
    client.write("{\"events\":false}\n")
    client.write("{\"end\":\"a\"}\n{\"end\":\"a\"}\n{\"begin\":\"a\"}\n{\"ping\":1}\n")
    _ = client.line()
    for _ in 0..<2 {
      #expect(client.line() == #"{"v":1,"error":"no request with this id runs on this connection"}"#)
    }
    #expect(client.line() == #"{"v":1,"pong":1}"#)
    #expect(reader.event()?.activity.inFlight == 1)
    client.write("{\"end\":\"a\"}\n{\"end\":\"a\"}\n{\"begin\":\"a\"}\n")
    #expect(client.line()?.contains("no request") == true)
    client.write("{\"begin\":\"b\"}\n")
    #expect(reader.event(inFlight: 2) != nil)
  }

  @Test func `who asks for events again gets the state at once`() throws {
    let service = try TestService()
    let (client, other) = (try TestClient(service), try TestClient(service))
    let first = try #require(client.line())
    client.write("{\"events\":false}\n{\"ping\":1}\n")
    #expect(client.line() == #"{"v":1,"pong":1}"#)
    other.write("{\"begin\":\"a\"}\n")
    #expect(other.event(inFlight: 1) != nil)
    client.write("{\"events\":true}\n")
    let line = try #require(client.line())
    #expect(line.contains(#""event":"initial","reason":"initial""#))
    #expect(line.contains(#""in_flight":1"#))
    #expect(line.contains(#""service":{"protocol":1"#) && first.contains(#""service":{"protocol":1"#))
    // A client that already gets events also gets the state again. A change of the indicator may come first.
    client.write("{\"events\":true}\n")
    let again = try #require(client.event())
    #expect((again.event == .activity ? client.event() : again)?.event == .initial)
    other.write("{\"end\":\"a\"}\n")
    #expect(client.line()?.contains(#""service""#) == false)
  }

  // MARK: Labels

  @Test func `a program tells in one message what runs, beside requests with ids`() throws {
    let service = try TestService()
    let (client, reader) = (try TestClient(service), try TestClient(service))
    client.write("{\"begin\":\"a\",\"label\":\"up\"}\n{\"running\":3,\"labels\":[{\"label\":\"up\",\"requests\":2}]}\n")
    #expect(reader.event(inFlight: 4) != nil)
    client.write("{\"events\":false}\n")
    #expect(client.answer(to: "{\"stats\":1}")?.contains(#""labels":[{"label":"up","requests":3}]"#) == true)
    // The same message again changes nothing, and the requests with ids are counted separately.
    client.write("{\"running\":3}\n{\"end\":\"a\"}\n")
    #expect(reader.event(inFlight: 3) != nil)
    #expect(client.answer(to: "{\"stats\":1}")?.contains(#""labels":[]"#) == true)
    client.write("{\"running\":0}\n")
    #expect(reader.event(inFlight: 0) != nil)
    client.write("{\"running\":4096}\n")
    #expect(reader.event(inFlight: 4_096) != nil)
    let limit = #"{"v":1,"error":"at most 4096 requests may run on one connection"}"#
    #expect(client.answer(to: "{\"begin\":\"b\"}") == limit)
    #expect(client.line() == nil)
    // When a client ends, its requests end.
    #expect(reader.event(inFlight: 0) != nil)
  }

  @Test func `labels of the user's own requests can be seen, cleaned`() throws {
    let service = try TestService()
    let (client, other) = (try TestClient(service), try TestClient(service))
    for client in [client, other] {
      _ = client.line()
      client.write("{\"events\":false}\n{\"ping\":1}\n")
      #expect(client.line() == #"{"v":1,"pong":1}"#)
    }
    client.write(
      #"{"begin":"a","label":"upload"}"# + "\n" + #"{"begin":"b","label":"\u001b[31m\u202e\"x"}"# + "\n"
        + #"{"begin":"c"}"# + "\n{\"ping\":1}\n")
    #expect(client.line() == #"{"v":1,"pong":1}"#)
    other.write(#"{"begin":"a","label":"upload"}"# + "\n{\"stats\":1}\n")
    let labels = #""requests":4,"labels":[{"label":"upload","requests":2},{"label":"?[31m?\"x","requests":1}]}}"#
    #expect(other.line()?.hasSuffix(labels) == true)
    client.write("{\"end\":\"a\"}\n{\"end\":\"b\"}\n{\"stats\":1}\n")
    #expect(client.line()?.hasSuffix(#""requests":2,"labels":[{"label":"upload","requests":1}]}}"#) == true)
  }

  @Test func `of many labels those with the most requests are told`() throws {
    let service = try TestService()
    let client = try TestClient(service)
    _ = client.line()
    client.write("{\"events\":false}\n")
    for number in 0..<100 {
      for copy in 0...number { client.write("{\"begin\":\"\(number)/\(copy)\",\"label\":\"label \(number)\"}\n") }
      client.write("{\"ping\":1}\n")
      #expect(client.line() == #"{"v":1,"pong":1}"#)
      if number == 63 { break }
    }
    client.write("{\"stats\":1}\n")
    let line = try #require(client.line())
    let statistics = try #require(JSONValue(Array(line.utf8)[...])?["stats"].map { ServiceStatistics($0) })
    #expect(statistics.requests == 64 * 65 / 2)
    #expect(statistics.labels.map(\.count) == (0..<32).map { 64 - $0 })
    #expect(statistics.labels.first?.name == "label 63")
  }

  @Test func `a hundred thousand labels hold up nobody for long`() {
    var random = SplitMix(seed: 5)
    var counts: [String: Int] = [:]
    for number in 0..<100_000 { counts["label \(number)"] = Int.random(in: 1...20, using: &random) }
    let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(32)
    #expect(ServiceStatistics.mostFrequent(counts) == sorted.map { NamedCount(name: $0.key, count: $0.value) })
    // Nearly all labels are compared once. If all were sorted, there would be fifteen times as many comparisons.
    var comparisons = 0
    _ = counts.first(32) {
      comparisons += 1
      return ($1.value, $0.key) < ($0.value, $1.key)
    }
    #expect(comparisons < 120_000)
  }

  // MARK: Memory

  @Test func `when the memory for requests is used up, a begin is an error, and an end makes room`() throws {
    let service = try TestService(memoryLimit: 1 << 20)
    let client = try TestClient(service)
    _ = client.line()
    client.write("{\"events\":false}\n")
    let label = String(repeating: "l", count: 256)
    var begun = 0
    var refusal: String?
    while refusal == nil, begun < 4_096 {
      client.write("{\"begin\":\"\(begun)\",\"label\":\"\(label)\"}\n{\"ping\":1}\n")
      let line = try #require(client.line())
      if line.contains("error") { refusal = line } else { begun += 1 }
    }
    #expect(refusal == #"{"v":1,"error":"the memory for requests is used up; end some first"}"#)
    #expect(client.line() == #"{"v":1,"pong":1}"#)
    #expect(begun > 2_000)
    // The limit is for all clients together, and only for requests.
    let other = try TestClient(service)
    #expect(other.event()?.activity.inFlight == begun)
    other.write("{\"events\":false}\n{\"begin\":\"a\",\"label\":\"\(label)\"}\n{\"ping\":1}\n")
    #expect(other.answer() == refusal)
    #expect(other.line() == #"{"v":1,"pong":1}"#)
    for number in 0..<8 { client.write("{\"end\":\"\(number)\"}\n") }
    client.write("{\"ping\":1}\n")
    #expect(client.line() == #"{"v":1,"pong":1}"#)
    other.write("{\"begin\":\"a\",\"label\":\"\(label)\"}\n{\"ping\":1}\n")
    #expect(other.line() == #"{"v":1,"pong":1}"#)
  }

  /// Begins `count` requests, each with a long label.
  private static func begin(_ count: Int, by client: TestClient) {
    let label = String(repeating: "l", count: 256)
    for number in 0..<count { client.write("{\"begin\":\"\(number)\",\"label\":\"\(label)\"}\n") }
    client.write("{\"ping\":1}\n")
    while let line = client.line(), line != #"{"v":1,"pong":1}"# {}
  }

  @Test func `when memory is short, answers that nobody reads give way to the newest state`() throws {
    let service = try TestService(memoryLimit: 1 << 20)
    let writer = try TestClient(service)
    writer.write("{\"events\":false}\n")
    // An answer is sixty times as long as the line that asks for it. Newlines that the service does not read wait in
    // the kernel.
    let questions = 2_000
    let sleepers = try (0..<8).map { _ in try TestClient(service) }
    for sleeper in sleepers { sleeper.write(String(repeating: "\n", count: questions)) }
    Self.begin(2_400, by: writer)
    for sleeper in sleepers {
      var errors: [String] = []
      var newest = 0
      while newest != 2_400, let line = sleeper.line() {
        if let record = EventRecord(line: Array(line.utf8)[...]) { newest = record.activity.inFlight }
        if line.contains("error") { errors.append(line) }
      }
      #expect(newest == 2_400)
      #expect(errors.contains(#"{"v":1,"error":"answers were left out, because nobody read them"}"#))
      #expect(errors.count < questions)
    }
  }

  @Test func `when memory is short, who asks much at once still gets every answer`() throws {
    let service = try TestService(memoryLimit: 1 << 20)
    let writer = try TestClient(service)
    writer.write("{\"events\":false}\n")
    Self.begin(2_400, by: writer)
    let client = try TestClient(service)
    client.write("{\"events\":false}\n{\"ping\":1}\n")
    while let line = client.line(), line != #"{"v":1,"pong":1}"# {}
    client.write(String(repeating: "\n", count: 2_000) + "{\"ping\":1}\n")
    for _ in 0..<2_000 { #expect(client.line()?.contains("not a JSON") == true) }
    #expect(client.line() == #"{"v":1,"pong":1}"#)
  }

  @Test func `the memory of clients that have gone is free again`() throws {
    let service = try TestService(memoryLimit: 1 << 20)
    let label = String(repeating: "l", count: 256)
    for _ in 0..<20 {
      let client = try TestClient(service)
      _ = client.line()
      client.write("{\"events\":false}\n")
      for number in 0..<2_000 { client.write("{\"begin\":\"\(number)\",\"label\":\"\(label)\"}\n") }
      client.write("{\"ping\":1}\n")
      #expect(client.answer() == #"{"v":1,"pong":1}"#)
      // Each client leaves half a line, and does not read its answers.
      client.write(String(repeating: "\n", count: 2_000) + "{\"begin\"")
    }
    let client = try TestClient(service)
    _ = client.line()
    client.write("{\"events\":false}\n{\"ping\":1}\n")
    while let line = client.line() { if line == #"{"v":1,"pong":1}"# { return } }
    Issue.record("the service does not answer any more")
  }

  @Test func `half lines, and the rest later`() throws {
    let service = try TestService()
    let client = try TestClient(service)
    _ = client.line()
    for byte in "{\"ping\":1}\n".utf8 { client.write([byte]) }
    #expect(client.line() == #"{"v":1,"pong":1}"#)
  }

  @Test func `a client that has said all may still listen`() throws {
    let service = try TestService()
    let reader = try TestClient(service)
    _ = reader.line()
    reader.write("{\"begin\":\"a\"}\n")
    reader.shutWriting()
    #expect(reader.event(inFlight: 1) != nil)
    let other = try TestClient(service)
    other.write("{\"begin\":\"b\"}\n")
    #expect(reader.event(inFlight: 2) != nil)
  }

  @Test(arguments: [
    String(repeating: "x", count: 5_000), "{\"begin\":\"" + String(repeating: "x", count: 65) + "\"}\n",
    (0...4_096).map { "{\"begin\":\"\($0)\"}\n" }.joined(),
  ])
  func `a limit is answered, and ends the connection`(_ text: String) throws {
    let service = try TestService()
    let client = try TestClient(service)
    client.write("{\"events\":false}\n")
    client.write(text)
    var lines: [String] = []
    while let line = client.line() { lines.append(line) }
    #expect(lines.last?.hasPrefix(#"{"v":1,"error":""#) == true)
    let reader = try TestClient(service)
    #expect(reader.event()?.activity.inFlight == 0)
  }

  @Test func `one client too many is told so`() throws {
    let service = try TestService(connectionLimit: 3)
    let clients = try (0..<3).map { _ in try TestClient(service) }
    for client in clients { #expect(client.event() != nil) }
    let fourth = try TestClient(service)
    #expect(fourth.line()?.contains("3 connections already") == true)
    #expect(fourth.line() == nil)
    clients[0].write("{\"ping\":1}\n")
    #expect(clients[0].line() == #"{"v":1,"pong":1}"#)
  }

  @Test func `who does not read misses old lines, and finds the newest`() throws {
    let service = try TestService()
    let (sleeper, reader, writer) = (try TestClient(service), try TestClient(service), try TestClient(service))
    writer.write("{\"events\":false}\n")
    for round in 1...2_000 {
      writer.write("{\"begin\":\"\(round)\"}\n")
      // The test waits for each line before it writes the next one, so that each change gives one line.
      guard reader.event(inFlight: round) != nil else { return #expect(Bool(false), "round \(round)") }
    }
    var lines = 0
    var last: EventRecord?
    while last?.activity.inFlight != 2_000, let event = sleeper.event() {
      lines += 1
      last = event
    }
    #expect(last?.activity.inFlight == 2_000)
    #expect(lines < 1_000)
  }

  @Test func `random bytes from many clients`() throws {
    // On a busy machine, the service may see all clients before it sees that the first ones are gone.
    let rounds = FuzzRounds.count(default: 2_000) / 20
    let service = try TestService(connectionLimit: rounds + 1)
    var random = SplitMix(seed: 3)
    let pieces = [
      "{\"begin\":\"", "a", "\"}", "\n", "{\"end\":\"a\"}\n", "{\"ping\":1}\n", "{\"stats\":1}\n", "\0", "\\", "{", "[",
      "{\"events\":true}\n", "{\"events\":false}\n", "\u{fffd}", "{\"begin\":\"a\",\"label\":\"b\"}\n",
    ].map { Array($0.utf8) }
    for _ in 0..<rounds {
      let client = try TestClient(service)
      for _ in 0..<20 {
        var bytes = (0..<8).flatMap { _ in pieces.randomElement(using: &random) ?? [] }
        if random.oneIn(3) { bytes.append(UInt8.random(in: 0...255, using: &random)) }
        client.write(bytes)
      }
    }
    let client = try TestClient(service)
    #expect(client.event() != nil)
    client.write("{\"ping\":1}\n")
    while let line = client.line() { if line == #"{"v":1,"pong":1}"# { return } }
    Issue.record("the service does not answer any more")
  }

  // MARK: Sockets

  @Test func `a dead service's file is taken over, a live one's is not`() throws {
    let service = try TestService()
    #expect(throws: PlainError.self) { try ListeningSocket(at: service.address) }
    let message = #expect(throws: PlainError.self) { try ListeningSocket(at: service.address) }?.description ?? ""
    #expect(message.contains("(process \(getpid()))"))
  }

  @Test func `an address that cannot be one`() {
    for path in ["", String(repeating: "/x", count: 60), "/proc/nothing/here"] {
      #expect(throws: PlainError.self) { try ListeningSocket(at: ServiceAddress(path: path)) }
    }
  }
}
