import Foundation
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// A server that answers while its gate is open, and counts what goes on at the same time.
final class GateServer: Sendable {
  struct Counts: Sendable {
    /// Connections, those at this moment, the most at any, and all.
    var connections = 0
    var allConnections = 0
    var mostConnections = 0
    /// Requests that have come and were not answered.
    var requests = 0
    var mostRequests = 0
    var heads: [String] = []
  }

  let server: ScriptedServer
  private let counts = Box(Counts())
  private let gate = Gate()

  /// - Parameters:
  ///   - isOpen: Whether requests are answered at once.
  ///   - fields: The fields of the answer to a head, each line with its end.
  init(isOpen: Bool = true, fields: @escaping @Sendable (_ head: String) -> String = { _ in "" }) throws {
    if isOpen { gate.open() }
    server = try ScriptedServer { [counts, gate] connection, _ in
      counts.change { counts in
        counts.connections += 1
        counts.allConnections += 1
        counts.mostConnections = max(counts.mostConnections, counts.connections)
      }
      while let head = connection.readHead() {
        counts.change { counts in
          counts.heads.append(head)
          counts.requests += 1
          counts.mostRequests = max(counts.mostRequests, counts.requests)
        }
        gate.pass()
        counts.change { $0.requests -= 1 }
        guard connection.write("HTTP/1.1 200 OK\r\n\(fields(head))Content-Length: 2\r\n\r\nok") else { break }
      }
      counts.change { $0.connections -= 1 }
    }
  }

  deinit {
    open()
    server.stop()
  }

  var url: URL { server.url }
  var now: Counts { counts.now }

  func open() { gate.open() }

  /// Waits until a count does not grow any more: it stays while a session, whose thread makes it grow, exchanges twenty requests
  /// with this server.
  func stops(_ count: Box<Int>, in session: HTTPSessionManager) async throws {
    var before = count.now - 1
    while count.now != before {
      before = count.now
      for _ in 0..<20 { _ = try await session.data(for: url) }
    }
  }

  /// Waits until `count` requests wait for their answers.
  func waits(for count: Int) async throws {
    try await eventually(self.now.requests) { $0 == count }
  }
}
