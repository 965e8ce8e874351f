import Foundation

/// The parts of a request that a server has received.
struct Echo: Codable, Sendable, Equatable {
  var method: String
  var path: String
  var type = ""
  var body = ""
}

extension ScriptedServer {
  /// Starts a server that answers each request with an ``Echo`` of it: as a property list if the path ends with
  /// `plist`, otherwise as JSON. If the path contains `refused`, the status is 422.
  static func echoing() throws -> ScriptedServer {
    try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        let words = head.split(separator: " ", maxSplits: 2).map(String.init)
        func field(_ name: String) -> String {
          let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("\(name): ") }
          return line.map { String($0.dropFirst(name.count + 2)) } ?? ""
        }
        let body = connection.read(Int(field("content-length")) ?? 0) ?? Data()
        let echo = Echo(
          method: words[0], path: words[1], type: field("content-type"), body: String(decoding: body, as: UTF8.self))
        let isList = words[1].hasSuffix("plist")
        let answer = (isList ? try? PropertyListEncoder().encode(echo) : try? JSONEncoder().encode(echo)) ?? Data()
        let status = words[1].contains("refused") ? "422 Unprocessable Content" : "200 OK"
        let type = isList ? "application/x-plist" : "application/json"
        connection.write("HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(answer.count)\r\n\r\n")
        if words[0] != "HEAD" { connection.write(answer) }
      }
    }
  }
}
