import Foundation
import Glibc
import Synchronization

/// An HTTP server on port 80 of both families that answers as its standard input says, a line for all requests to come:
///
/// - `204`, `302`, `200 TEXT`: that status, and that body.
/// - `to PLACE`: a 302 that leads there.
/// - `hang`: never.
/// - `close`: with the end of the connection.
/// - `raw TEXT`: with this and nothing else, before it is asked.
/// - `cut`: with the end of the connection, when anything has come.
///
/// It prints `set` for each such line, `asked HEAD` for each request, the lines of its head with `|` between them, and
/// `gone` when a client leaves that has waited for nothing.
enum AnswerServer {
  private static let answer = Mutex("204")

  static func run() throws {
    let listener = try SlowServer.listen()
    signal(SIGPIPE, SIG_IGN)
    say("ready")
    Thread.detachNewThread {
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { continue }
        Thread.detachNewThread { serve(client) }
      }
    }
    while let line = readLine() {
      answer.withLock { $0 = line }
      say("set")
    }
  }

  private static func serve(_ client: CInt) {
    defer { close(client) }
    let words = answer.withLock { $0 }.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    let text = words.count > 1 ? String(words[1]) : ""
    if words[0] == "cut" {
      var bytes = [UInt8](repeating: 0, count: 4_096)
      _ = unsafe recv(client, &bytes, bytes.count, 0)
      return
    }
    if words[0] == "raw" { return SlowServer.send(client, text + "\r\n\r\n") }
    guard let head = SlowServer.nextHead(client) else { return }
    say("asked " + head.split(separator: "\r\n").joined(separator: "|"))
    switch words[0] {
    case "hang":
      var byte: UInt8 = 0
      _ = unsafe recv(client, &byte, 1, 0)
      say("gone")
    case "close": return
    case "to": SlowServer.send(client, "HTTP/1.1 302 Answer\r\nLocation: \(text)\r\nContent-Length: 5\r\n\r\nlogin")
    case let status:
      let place = status.first == "3" ? "Location: http://10.0.0.2/login\r\n" : ""
      SlowServer.send(
        client, "HTTP/1.1 \(status) Answer\r\n\(place)Content-Length: \(text.utf8.count)\r\n\r\n\(text)")
    }
  }
}
