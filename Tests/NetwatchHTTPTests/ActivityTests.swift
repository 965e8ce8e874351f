import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Synchronization
import Testing

@testable import NetwatchHTTP

/// Tests that the requests of a session drive the activity indicator without any code in the app.
@Suite(.timeLimit(.minutes(5))) struct ActivityTests {
  private func indicator() -> ActivityIndicator {
    var configuration = ActivityConfiguration()
    configuration.activationDelay = .milliseconds(200)
    configuration.completionDelay = .milliseconds(50)
    return ActivityIndicator(configuration)
  }

  @Test func `a long request is shown after the delay, and hidden after its end`() async throws {
    let goesOn = DispatchSemaphore(value: 0)
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      goesOn.wait()
      connection.write("HTTP/1.1 204 No Content\r\n\r\n")
      connection.waitForEnd()
    }
    defer { server.stop() }
    let indicator = indicator()
    let session = try HTTPSessionManager(observer: indicator)
    let changes = Box<[(isVisible: Bool, at: ContinuousClock.Instant)]>([])
    let subscription = indicator.onVisibilityChangeImmediately(initial: false) { isVisible in
      changes.change { $0.append((isVisible, .now)) }
    }
    defer { subscription.cancel() }
    let began = ContinuousClock.now
    let reply = Task { try await session.data(for: HTTPRequest(.get, to: server.url)) }
    let shown = try await eventually(changes.now) { !$0.isEmpty }[0]
    #expect(shown.isVisible)
    #expect(began.duration(to: shown.at) >= .milliseconds(200))
    let ended = ContinuousClock.now
    goesOn.signal()
    _ = try await reply.value
    let hidden = try await eventually(changes.now) { $0.count == 2 }[1]
    #expect(!hidden.isVisible)
    #expect(ended.duration(to: hidden.at) >= .milliseconds(50))
    #expect(indicator.count == 0)
  }

  @Test func `short requests are counted down to nothing, and a long poll is not counted`() async throws {
    let heard = Box(0)
    let silent = try ScriptedServer { connection, _ in
      while connection.readHead() != nil { heard.change { $0 += 1 } }
    }
    defer { silent.stop() }
    let server = try NginxServer()
    let indicator = indicator()
    let session = try HTTPSessionManager(baseURL: server.url, observer: indicator)
    var options = HTTPTaskOptions()
    options.isIndicated = false
    let poll = session.dataTask(try HTTPRequest(.get, to: silent.url), options: options) { _ in }
    poll.resume()
    try await eventually(heard.now) { $0 == 1 }
    #expect(indicator.count == 0)
    let request = try HTTPRequest(.get, to: session.url(for: "method"))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<50 { group.addTask { _ = try? await session.data(for: request) } }
    }
    #expect(indicator.count == 0)
    poll.cancel()
  }
}
