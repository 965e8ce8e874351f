import Foundation

@testable import NetwatchHTTP

/// A server that answers while its gate is open, and counts what goes on at the same time.
final class GateServer: Sendable {
  struct Counts: Sendable {
    var isOpen: Bool
    /// Connections, those at this moment and the most at any.
    var connections = 0
    var mostConnections = 0
    /// Requests that have come and were not answered.
    var requests = 0
    var mostRequests = 0
    var heads: [String] = []
  }

  let server: ScriptedServer
  private let counts: Box<Counts>

  /// - Parameters:
  ///   - isOpen: Whether requests are answered at once.
  ///   - delay: Microseconds before each answer.
  ///   - fields: The fields of the answer to a head, each line with its end.
  init(
    isOpen: Bool = true, delay: UInt32 = 0, fields: @escaping @Sendable (_ head: String) -> String = { _ in "" }
  ) throws {
    counts = Box(Counts(isOpen: isOpen))
    server = try ScriptedServer { [counts] connection, _ in
      counts.change { counts in
        counts.connections += 1
        counts.mostConnections = max(counts.mostConnections, counts.connections)
      }
      while let head = connection.readHead() {
        counts.change { counts in
          counts.heads.append(head)
          counts.requests += 1
          counts.mostRequests = max(counts.mostRequests, counts.requests)
        }
        while !counts.now.isOpen { usleep(1_000) }
        if delay > 0 { usleep(delay) }
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

  func open() { counts.change { $0.isOpen = true } }

  /// Waits until `count` requests wait for their answers.
  func waits(for count: Int) async throws {
    _ = try await eventually { self.now.requests == count ? true : nil }
  }
}
