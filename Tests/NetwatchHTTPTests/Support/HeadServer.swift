import Foundation

@testable import NetwatchHTTP

/// A server that keeps the heads of all requests, and answers each request according to its head.
final class HeadServer: Sendable {
  let server: ScriptedServer
  private let seen = Box<[String]>([])

  /// - Parameter answer: Returns the status and fields of the response to a request's head; nil for a plain 200. Fields
  ///   are separated by CR LF. The response has no body.
  init(_ answer: @escaping @Sendable (String) -> String? = { _ in nil }) throws {
    server = try ScriptedServer { [seen] connection, _ in
      while let head = connection.readHead() {
        seen.change { $0.append(head) }
        let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
        if length > 0 { _ = connection.read(length) }
        connection.write("HTTP/1.1 \(answer(head) ?? "200 OK")\r\nContent-Length: 0\r\n\r\n")
      }
    }
  }

  deinit { server.stop() }

  /// Returns a URL of this server. The host is the loopback address or one of its names; each of them is a different
  /// origin.
  func url(_ path: String = "", host: String = "127.0.0.1") -> URL {
    URL(string: "http://\(host):\(server.port)/\(path)")!
  }

  var heads: [String] { seen.now }

  /// Returns the values of a field, for each request.
  func values(_ name: String) -> [[String]] {
    heads.map { head in
      head.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("\(name.lowercased()): ") }
        .map { String($0.dropFirst(name.count + 2)) }
    }
  }
}
