import EventSchema
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
    #expect(EventLine.problems(first) == [])
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

  @Test func `ids belong to their connection`() throws {
    let service = try TestService()
    let reader = try TestClient(service)
    let (first, second) = (try TestClient(service), try TestClient(service))
    first.write("{\"begin\":\"a\"}\n")
    second.write("{\"begin\":\"a\"}\n{\"begin\":\"a\"}\n")
    #expect(reader.event(inFlight: 2) != nil)
    second.write("{\"end\":\"a\"}\n{\"end\":\"a\"}\n")
    #expect(reader.event(inFlight: 1) != nil)
  }

  @Test func `answers`() throws {
    let service = try TestService()
    let client = try TestClient(service)
    _ = client.line()
    client.write("{\"ping\":1}\n{\"stats\":1}\n")
    #expect(client.line() == #"{"v":1,"pong":1}"#)
    #expect(client.line() == #"{"v":1,"stats":{"transitions":5,"netlink_overruns":6,"subscribers":1}}"#)
    client.write("{\"events\":false}\n{\"stats\":1}\nwhat?\n")
    #expect(client.line()?.contains(#""subscribers":0"#) == true)
    #expect(client.line()?.hasPrefix(#"{"v":1,"error":""#) == true)
    client.write("{\"ping\":1}\n")
    #expect(client.line() == #"{"v":1,"pong":1}"#)
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
      // One line each: the next one waits for this one.
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
    let service = try TestService()
    var random = SplitMix(seed: 3)
    let pieces = [
      "{\"begin\":\"", "a", "\"}", "\n", "{\"end\":\"a\"}\n", "{\"ping\":1}\n", "{\"stats\":1}\n", "\0", "\\", "{", "[",
      "{\"events\":true}\n", "{\"events\":false}\n", "\u{fffd}", "{\"begin\":\"a\",\"label\":\"b\"}\n",
    ].map { Array($0.utf8) }
    for _ in 0..<FuzzRounds.count(default: 2_000) / 20 {
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
    #expect(throws: ServiceError.self) { try ListeningSocket(at: service.address) }
    let message = #expect(throws: ServiceError.self) { try ListeningSocket(at: service.address) }?.description ?? ""
    #expect(message.contains("(process \(getpid()))"))
  }

  @Test func `an address that can not be one`() {
    for path in ["", String(repeating: "/x", count: 60), "/proc/nothing/here"] {
      #expect(throws: ServiceError.self) { try ListeningSocket(at: ServiceAddress(path: path)) }
    }
  }
}
