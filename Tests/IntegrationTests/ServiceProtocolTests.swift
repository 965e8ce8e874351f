import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// How the service treats clients that are wrong, malicious, slow, or many.
@Suite struct ServiceProtocolTests {
  private static func greeted(_ service: RunningService) throws -> ServiceClient {
    let client = try service.client()
    _ = try client.next()
    return client
  }

  private static func begin(_ id: String) -> String { "{\"begin\":\"\(id)\"}" }

  // MARK: Lines

  private static let strangeLines = [
    "garbage", "", "{", "{}", "[]", "null", "1", "\"begin\"", "{\"begin\":1}", "{\"begin\":\"\"}", "{\"begin\":null}",
    "{\"end\":{}}", "{\"events\":1}", "{\"begin\":\"a\",\"label\":1}", "{\"begin\":\"a\"} x", "{\"begin\":\"a\"",
    "{\"begin\":\"a\",}", "{'begin':'a'}", "{\"begin\":\"\\ud800\"}", "{\"begin\":\"a\nb\"}",
    String(repeating: "[", count: 4_000), String(repeating: "{\"a\":", count: 600),
  ]

  @Test func `a line that is not understood is answered, and the connection goes on`() throws {
    let service = try RunningService()
    for line in Self.strangeLines {
      let client = try Self.greeted(service)
      client.send(line)
      #expect(try client.error() != "", "\(line)")
      client.send("{\"stats\":1}")
      while true { if try client.answer().contains("stats") { break } }
      #expect(try service.inFlight() == 0, "\(line)")
    }
  }

  @Test func `bytes that are no text are answered, and the connection goes on`() throws {
    let service = try RunningService()
    let client = try Self.greeted(service)
    let id = Array("{\"begin\":\"".utf8)
    let end = Array("\"}\n".utf8)
    let wrong: [[UInt8]] = [
      [0], [0, 0, 0], id + [0] + end, id + [0xff] + end, id + [0xc3] + end, id + [0xed, 0xa0, 0x80] + end,
      id + [0xc0, 0x80] + end, [0xef, 0xbb, 0xbf] + id + [0x61] + end, id + [0x1f] + end,
    ]
    for bytes in wrong {
      client.send(bytes.last == 10 ? bytes : bytes + [10])
      #expect(try client.error() != "", "\(bytes)")
    }
    try client.ping()
    #expect(try service.inFlight() == 0)
  }

  @Test func `a line may come byte by byte, and half a line is none`() throws {
    let service = try RunningService()
    let client = try Self.greeted(service)
    for byte in Array("{\"begin\":\"a\"}\n".utf8) { client.send([byte]) }
    #expect(try client.next().inFlight == 1)
    client.send(Array("{\"begin\":\"b\"}".utf8))
    client.close()
    let watcher = try service.client()
    var line = try watcher.next()
    while line.inFlight != 0 {
      #expect(line.inFlight == 1)
      line = try watcher.next()
    }
  }

  @Test func `many lines may come at once`() throws {
    let service = try RunningService()
    let client = try Self.greeted(service)
    client.send((0..<1_000).map { Self.begin("\($0)") }.joined(separator: "\n"))
    var line = try client.next()
    while line.inFlight != 1_000 { line = try client.next() }
    client.send((0..<1_000).map { "{\"end\":\"\($0)\"}" }.joined(separator: "\n"))
    while line.inFlight != 0 { line = try client.next() }
  }

  // MARK: Limits

  @Test func `a line of a megabyte ends the connection`() throws {
    let service = try RunningService()
    let client = try Self.greeted(service)
    // The service closes the connection while the client still sends.
    client.send([UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20))
    #expect(try client.rest() == ["{\"v\":1,\"error\":\"a line has at most 4096 bytes\"}"])
    #expect(try service.inFlight() == 0)
  }

  @Test func `a line has 4096 bytes and no more`() throws {
    let service = try RunningService()
    let client = try Self.greeted(service)
    let ping = "{\"ping\":1}"
    client.send(ping + String(repeating: " ", count: 4_096 - ping.utf8.count))
    #expect(try client.nextLine() == "{\"v\":1,\"pong\":1}")
    client.send(ping + String(repeating: " ", count: 4_097 - ping.utf8.count))
    #expect(try client.rest() == ["{\"v\":1,\"error\":\"a line has at most 4096 bytes\"}"])
  }

  @Test func `an id and a label have their lengths`() throws {
    let service = try RunningService()
    let client = try Self.greeted(service)
    client.send(
      "{\"begin\":\"\(String(repeating: "i", count: 64))\",\"label\":\"\(String(repeating: "l", count: 256))\"}")
    #expect(try client.next().inFlight == 1)
    client.send(Self.begin(String(repeating: "i", count: 65)))
    #expect(try client.error() == "an id has at most 64 bytes")
    #expect(try client.nextLine() == nil)
    let other = try Self.greeted(service)
    // The limit counts bytes, not characters.
    other.send("{\"begin\":\"a\",\"label\":\"\(String(repeating: "é", count: 128))x\"}")
    #expect(try other.error() == "a label has at most 256 bytes")
    #expect(try other.nextLine() == nil)
  }

  @Test func `of ten thousand requests the 4097th ends the connection, and them all`() throws {
    let service = try RunningService()
    let client = try Self.greeted(service)
    client.send("{\"events\":false}")
    for number in 0..<4_096 { client.send(Self.begin("\(number)")) }
    // An id that runs already may begin again.
    client.send(Self.begin("0"))
    try client.ping()
    #expect(try service.inFlight() == 4_096)
    let watcher = try Self.greeted(service)
    for number in 4_096..<10_000 where !client.send(Self.begin("\(number)")) { break }
    #expect(try client.rest() == ["{\"v\":1,\"error\":\"at most 4096 requests may run on one connection\"}"])
    var line = try watcher.next()
    while line.inFlight != 0 { line = try watcher.next() }
  }

  // MARK: Clients that do not read

  @Test func `one that does not read answers is not read from, and costs little`() throws {
    let service = try RunningService()
    let before = try service.process.residentMemory()
    let clients = try (0..<50).map { _ in try Self.greeted(service) }
    // A newline alone is a line that is not understood, and its answer is sixty times as long.
    let newlines = [UInt8](repeating: 10, count: 12_000)
    for client in clients { client.send(newlines) }
    for _ in 0..<20 { try Self.greeted(service).ping() }
    let growth = try service.process.residentMemory() - before
    // Each client may cost 64 KiB. The rest is for the allocator.
    #expect(growth < 50 * (64 << 10) + (8 << 20), "\(growth >> 10) KiB")
    // Every answer arrives in the end.
    for client in clients.prefix(2) {
      for _ in newlines { #expect(try client.error() == "this is not a JSON object on one line") }
      try client.ping()
    }
  }

  @Test func `one that does not read finds the newest line`() throws {
    let service = try RunningService()
    let reader = try Self.greeted(service)
    let sleeper = try Self.greeted(service)
    let worker = try Self.greeted(service)
    worker.send("{\"events\":false}")
    for number in 0..<2_000 {
      worker.send(Self.begin("\(number)"))
      try worker.ping()
    }
    var line = try reader.next()
    while line.inFlight != 2_000 { line = try reader.next() }
    var lines: [Line] = []
    repeat { lines.append(try sleeper.next()) } while lines.last?.inFlight != 2_000
    #expect(lines.count < 500)
    let sequences = lines.compactMap(\.sequence)
    #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test func `one that was behind and wants no events costs nothing`() throws {
    let service = try RunningService()
    let sleeper = try Self.greeted(service)
    let worker = try Self.greeted(service)
    worker.send("{\"events\":false}")
    for number in 0..<500 {
      worker.send(Self.begin("\(number)"))
      try worker.ping()
    }
    sleeper.send("{\"events\":false}")
    // The client reads only after the service has understood that line.
    repeat { worker.send("{\"stats\":1}") } while try !worker.answer().contains("\"subscribers\":0,")
    try sleeper.ping()
    // When the indicator is visible, the activation delay is over and nothing else is due.
    let watcher = try service.client()
    while try watcher.next().isVisible != true {}
    try service.process.waitUntilIdle()
  }

  @Test func `one that dies while a line is written to it is not counted on`() throws {
    let service = try RunningService()
    let watcher = try Self.greeted(service)
    // The service handles 64 clients at a time. The doomed client is the 65th.
    let clients = try (0..<64).map { _ in try Self.greeted(service) }
    let doomed = try Self.greeted(service)
    doomed.send(Self.begin("doomed"))
    try doomed.ping()
    for client in clients { try client.ping() }
    service.process.signal(SIGSTOP)
    for client in clients { client.send(Self.begin("a")) }
    doomed.close()
    service.process.signal(SIGCONT)
    // The indicator becomes visible a second later, and that line would come anyway. Only the lines before it count.
    var line = try watcher.next()
    var counts: [Int] = []
    while line.isVisible != true {
      counts.append(line.inFlight ?? -1)
      line = try watcher.next()
    }
    #expect(counts.last == 64, "\(counts)")
  }

  // MARK: Many

  @Test func `two thousand clients: those beyond the limit are told so`() throws {
    try Self.raiseDescriptorLimit(to: 4_000)
    let service = try RunningService()
    let descriptors = service.descriptors
    let memory = try service.process.residentMemory()
    var clients: [ServiceClient] = []
    var refused = 0
    for _ in 0..<2_000 {
      let client = try service.client()
      let text = try #require(try client.nextLine())
      if text == "{\"v\":1,\"error\":\"the service has 1024 connections already\"}" {
        refused += 1
        #expect(try client.nextLine() == nil)
      } else {
        #expect(try Line(text).event == "initial")
        clients.append(client)
      }
    }
    // When it was started, `RunningService` connected once to see whether the service answers. The service may or may
    // not have closed that connection by now.
    #expect(1_023...1_024 ~= clients.count)
    #expect(refused == 2_000 - clients.count)
    try service.namespace.run("ip link set v1 down")
    for client in clients { #expect(try client.next().status == "not-reachable") }
    let growth = try service.process.residentMemory() - memory
    #expect(growth < 16 << 20, "\(growth >> 10) KiB")
    clients = []
    #expect(try service.descriptors(downTo: descriptors) <= descriptors)
    #expect(try service.inFlight() == 0)
  }

  @Test func `ten thousand come and go, and leave nothing`() throws {
    let service = try RunningService()
    let descriptors = service.descriptors
    for _ in 0..<1_000 { try service.client().close() }
    let memory = try service.process.residentMemory()
    for number in 0..<9_000 {
      let client = try service.client()
      switch number % 4 {
      case 0: client.send(Self.begin("a"))
      case 1: client.send([UInt8](repeating: 0x41, count: 5_000))
      case 2: client.endInput()
      default: break
      }
      client.close()
    }
    #expect(try service.descriptors(downTo: descriptors) <= descriptors)
    let growth = try service.process.residentMemory() - memory
    #expect(growth < 4 << 20, "\(growth >> 10) KiB")
    let watcher = try service.client()
    while try watcher.next().inFlight != 0 {}
  }

  @Test func `with no descriptor left it says so, keeps what it has, and recovers`() throws {
    let service = try RunningService(shell: "ulimit -n 64")
    let descriptors = service.descriptors
    var clients: [ServiceClient] = []
    while true {
      let client = try service.client()
      let text = try #require(try client.nextLine())
      if text == "{\"v\":1,\"error\":\"the service has no descriptor left\"}" {
        #expect(try client.nextLine() == nil)
        break
      }
      #expect(try Line(text).event == "initial")
      clients.append(client)
      try #require(clients.count < 64)
    }
    #expect(clients.count > 20)
    for _ in 0..<100 { #expect(try service.client().error() == "the service has no descriptor left") }
    // The service sleeps while no client asks for anything.
    try service.process.waitUntilIdle()
    for client in clients { try client.ping() }
    try service.namespace.run("ip link set v1 down")
    for client in clients { #expect(try client.next().summary == "not-reachable no_carrier -") }
    clients = []
    _ = try service.descriptors(downTo: descriptors)
    #expect(try service.client().next().summary == "not-reachable no_carrier -")
  }

  private static func raiseDescriptorLimit(to count: UInt) throws {
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_cur < count else { return }
    limit.rlim_cur = min(count, limit.rlim_max)
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_cur >= count else { throw TestFailure("this test needs \(count) descriptors") }
  }
}
