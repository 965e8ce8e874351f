import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchStream

@Suite(.timeLimit(.minutes(3))) struct EventStreamTests {
  /// Returns a client of the service that begins and ends requests, and gets no events.
  private static func client(of service: TestService) throws -> TestClient {
    let client = try TestClient(service)
    client.write("{\"events\":false}\n")
    return client
  }

  /// Returns the next record that fits. A reader that had to wait for a thread may find a newer record than the one
  /// that it looks for.
  private static func next(
    of records: inout EventStream.Iterator, where fits: (EventRecord) -> Bool
  ) async -> EventRecord? {
    while let record = await records.next() { if fits(record) { return record } }
    return nil
  }

  @Test func `the state comes at once, then each change`() async throws {
    let service = try TestService()
    let client = try Self.client(of: service)
    let stream = try EventStream(from: [service.address])
    var records = stream.makeAsyncIterator()
    let first = try #require(await records.next())
    #expect((first.event, first.path.status, first.activity.inFlight) == (.initial, .wifi, 0))
    #expect(stream.sharesNetwork)
    client.write("{\"begin\":\"a\"}\n")
    let second = try #require(await records.next())
    #expect((second.event, second.activity.inFlight) == (.activity, 1))
    #expect([.requestBegan, .activationDelay].contains(second.activityReason))
    client.write("{\"end\":\"a\"}\n")
    #expect(await Self.next(of: &records) { $0.activity.inFlight == 0 } != nil)
  }

  @Test func `a service that ends is told, and one that comes back goes on`() async throws {
    // The folder of the socket exists as long as this service object.
    let home = try TestService()
    var records = try EventStream(from: [home.address]).makeAsyncIterator()
    #expect(await records.next()?.event == .initial)
    home.stop()
    for _ in 0..<5 {
      let loss = try #require(await Self.next(of: &records) { $0.path.status != .wifi })
      #expect((loss.event, loss.path.status, loss.reason) == (.reachability, .unknown, "service_lost"))
      #expect(loss.activity == EventRecord.Activity())
      let service = try TestService.again(at: home.address)
      let first = try #require(await records.next())
      #expect((first.event, first.path.status) == (.initial, .wifi))
      let client = try Self.client(of: service)
      client.write("{\"begin\":\"a\"}\n")
      #expect(await records.next()?.activity.inFlight == 1)
      withExtendedLifetime(client) { service.stop() }
    }
  }

  @Test func `figures of the link come to who asks for them, and come again with another service`() async throws {
    let clock = ManualClock()
    let home = try TestService(by: clock)
    let stream = try EventStream(from: [home.address], trafficEvery: .milliseconds(1))
    var records = stream.makeAsyncIterator()
    var others = try EventStream(from: [home.address]).makeAsyncIterator()
    #expect(await others.next()?.event == .initial)
    var last: UInt64 = 0
    for tick in 1...3 {
      try await eventually(home.nextDeadline) { $0 == .milliseconds(100 * tick) }
      clock.advance(by: .milliseconds(100))
      let record = try #require(await Self.next(of: &records) { $0.event == .traffic })
      let traffic = try #require(record.traffic?.first)
      #expect((record.path.status, record.reason) == (.wifi, "sampled"))
      #expect(traffic.interfaceIndex == record.path.interfaceIndex)
      #expect(traffic.receivedBytes > last && traffic.receivedBitsPerSecond ?? 0 > 0)
      last = traffic.receivedBytes
    }
    home.stop()
    #expect(await Self.next(of: &records) { $0.reason == "service_lost" }?.traffic == nil)
    // The other reader did not ask for traffic, so the loss of the service is its next record.
    #expect(await others.next()?.reason == "service_lost")
    let service = try TestService.again(at: home.address, by: clock)
    try await eventually(service.nextDeadline) { $0 != nil }
    clock.advance(by: .milliseconds(100))
    #expect(await Self.next(of: &records) { $0.event == .traffic } != nil)
    withExtendedLifetime((home, service)) {}
  }

  @Test func `a service that comes later is found`() async throws {
    let home = try TestService()
    let address = home.address
    home.stop()
    var records = try EventStream(from: [address]).makeAsyncIterator()
    let service = try TestService.again(at: address)
    #expect(await records.next()?.event == .initial)
    withExtendedLifetime((home, service)) {}
  }

  @Test func `a reader that is cancelled ends, whether something comes or not`() async throws {
    let service = try TestService()
    let stream = try EventStream(from: [service.address])
    let reader = Task {
      var count = 0
      for await _ in stream { count += 1 }
      return count
    }
    var other = stream.makeAsyncIterator()
    #expect(await other.next()?.event == .initial)
    reader.cancel()
    #expect(await reader.value <= 1)
    let silent = try EventStream(from: [ServiceAddress(path: service.address.path + ".none")])
    let waiting = Task { await silent.first { _ in true } }
    waiting.cancel()
    #expect(await waiting.value == nil)
    // Other readers continue.
    let client = try Self.client(of: service)
    client.write("{\"begin\":\"a\"}\n")
    #expect(await other.next()?.activity.inFlight == 1)
    withExtendedLifetime(client) {}
  }

  @Test func `a slow reader finds the newest record, and every reader gets the state first`() async throws {
    let service = try TestService()
    let client = try Self.client(of: service)
    let stream = try EventStream(from: [service.address])
    var (slow, quick) = (stream.makeAsyncIterator(), stream.makeAsyncIterator())
    #expect(await slow.next()?.event == .initial)
    for number in 0..<100 { client.write("{\"begin\":\"\(number)\"}\n") }
    while let record = await quick.next(), record.activity.inFlight < 100 {}
    var count = 0
    while let record = await slow.next() {
      count += 1
      if record.activity.inFlight == 100 { break }
    }
    #expect(count <= 200)
    var late = stream.makeAsyncIterator()
    #expect(await late.next()?.activity.inFlight == 100)
    withExtendedLifetime(client) {}
  }

  @Test func `a stream that nobody holds leaves its service and its thread`() async throws {
    let service = try TestService()
    let client = try TestClient(service)
    _ = client.line()
    for _ in 0..<20 {
      var records: EventStream.Iterator? = try EventStream(from: [service.address]).makeAsyncIterator()
      #expect(await records?.next()?.event == .initial)
      records = nil
    }
    client.write("{\"events\":false}\n")
    // The client wants no events, and no other reader is left.
    try await eventually(client.answer(to: "{\"stats\":1}")) { $0?.contains("\"subscribers\":0") == true }
  }
}
