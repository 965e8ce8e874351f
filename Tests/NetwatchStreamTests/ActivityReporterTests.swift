import Glibc
import Netwatch
import Testing

@testable import NetwatchStream

@Suite(.timeLimit(.minutes(3))) struct ActivityReporterTests {
  @Test func `what an app begins is counted by the service`() throws {
    let service = try TestService()
    let reader = try TestClient(service)
    let indicator = ActivityIndicator()
    let reporter = try ActivityReporter(of: indicator, to: [service.address])
    let first = indicator.begin()
    #expect(reader.event(inFlight: 1) != nil)
    let second = indicator.begin()
    #expect(reader.event(inFlight: 2) != nil)
    first.end()
    second.end()
    #expect(reader.event(inFlight: 0) != nil)
    withExtendedLifetime(reporter) {}
  }

  @Test func `a reporter that goes takes its requests with it`() throws {
    let service = try TestService()
    let reader = try TestClient(service)
    let indicator = ActivityIndicator()
    indicator.began("a")
    var reporter: ActivityReporter? = try ActivityReporter(of: indicator, to: [service.address])
    #expect(reader.event(inFlight: 1) != nil)
    withExtendedLifetime(reporter) {}
    reporter = nil
    #expect(reader.event(inFlight: 0) != nil)
    indicator.ended("a")
  }

  @Test func `of two reporters, the one that stays reports on`() throws {
    let service = try TestService()
    let reader = try TestClient(service)
    let indicator = ActivityIndicator()
    var reporter: ActivityReporter? = try ActivityReporter(of: indicator, to: [service.address])
    let other = try ActivityReporter(of: indicator, to: [service.address])
    withExtendedLifetime(reporter) {}
    reporter = nil
    let request = indicator.begin()
    #expect(reader.event(inFlight: 1) != nil)
    request.end()
    #expect(reader.event(inFlight: 0) != nil)
    withExtendedLifetime(other) {}
  }

  @Test func `a service that comes later, and one that comes back, are told`() throws {
    // The folder of the socket exists as long as this service object.
    let home = try TestService()
    let address = home.address
    home.stop()
    let indicator = ActivityIndicator()
    indicator.began("a")
    let reporter = try ActivityReporter(of: indicator, to: [address])
    for _ in 0..<5 {
      let service = try TestService.again(at: address)
      let reader = try TestClient(service)
      #expect(reader.event(inFlight: 1) != nil)
      service.stop()
      while reader.line() != nil {}
    }
    withExtendedLifetime((reporter, home)) {}
  }

  @Test func `labels are those of the requests, and the reporter's for the others`() throws {
    let service = try TestService()
    let reader = try TestClient(service)
    let indicator = ActivityIndicator()
    let one = indicator.begin("up")
    let two = indicator.begin()
    let three = indicator.begin("up")
    let reporter = try ActivityReporter(of: indicator, label: "app", to: [service.address])
    #expect(reader.event(inFlight: 3) != nil)
    reader.write("{\"events\":false}\n")
    let labels = #""labels":[{"label":"up","requests":2},{"label":"app","requests":1}]"#
    #expect(try #require(reader.answer(to: "{\"stats\":1}")).contains(labels))
    one.end()
    two.end()
    three.end()
    withExtendedLifetime(reporter) {}
  }
}
