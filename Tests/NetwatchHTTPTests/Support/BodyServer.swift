import Foundation

/// A server that keeps every request with its body, and answers with 200.
final class BodyServer: Sendable {
  struct Request: Sendable {
    let head: String
    let body: Data

    /// Returns the values of a field, in the order of the sorted header lines.
    func values(_ name: String) -> [String] {
      fields.filter { $0.lowercased().hasPrefix("\(name.lowercased()):") }
        .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    var firstLine: String { head.components(separatedBy: "\r\n")[0] }
    /// The header lines, sorted.
    var fields: [String] { head.components(separatedBy: "\r\n").dropFirst().filter { !$0.isEmpty }.sorted() }
  }

  let server: ScriptedServer
  private let seen = Box<[Request]>([])

  init() throws {
    server = try ScriptedServer { [seen] connection, _ in
      while let head = connection.readHead(), let body = Self.body(after: head, connection) {
        seen.change { $0.append(Request(head: head, body: body)) }
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      }
    }
  }

  deinit { server.stop() }

  var url: URL { server.url }
  var requests: [Request] { seen.now }

  private static func body(after head: String, _ connection: ServerConnection) -> Data? {
    let head = head.lowercased()
    guard head.contains("transfer-encoding: chunked") else {
      let length = head.firstMatch(of: /content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
      return length == 0 ? Data() : connection.read(length)
    }
    var body = Data()
    while let line = connection.readUntil(Data("\r\n".utf8)) {
      guard let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) else { return nil }
      guard let chunk = connection.read(size + 2) else { return nil }
      if size == 0 { return body }
      body += chunk.dropLast(2)
    }
    return nil
  }
}
