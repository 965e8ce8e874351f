import Foundation
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// A server that answers when its gate is open. It counts the connections and requests that exist at the same time.
final class GateServer: Sendable {
  struct Counts: Sendable {
    /// The number of open connections. The next two are the number of all connections so far, and the most at one time.
    var connections = 0
    var allConnections = 0
    var mostConnections = 0
    /// The number of requests without an answer. The next one is the most at one time.
    var requests = 0
    var mostRequests = 0
    var heads: [String] = []
  }

  let server: ScriptedServer
  private let counts = Box(Counts())
  private let gate = Gate()

  /// - Parameters:
  ///   - isOpen: Whether requests are answered at once. If not, they wait until ``open()`` is called.
  ///   - fields: Returns the fields of the answer to a request's head. Each line ends with CR LF. Default: no fields.
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

  /// Waits until a count has stopped growing.
  ///
  /// - Parameters:
  ///   - count: A count that the thread of `session` increases. It has stopped if it stays the same while the session
  ///     exchanges twenty requests with this server.
  ///   - session: The session that makes these requests.
  func stops(_ count: Box<Int>, in session: HTTPSessionManager) async throws {
    var before = count.now - 1
    while count.now != before {
      before = count.now
      for _ in 0..<20 { _ = try await session.data(for: url) }
    }
  }

  /// Waits until exactly `count` requests have no answer yet.
  func waits(for count: Int) async throws {
    try await eventually(self.now.requests) { $0 == count }
  }
}
