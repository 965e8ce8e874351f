import Foundation
import Glibc
import Synchronization

/// An HTTP server on port 80 of both families. Each line of standard input says how it answers the connections that
/// follow:
///
/// - `204`, `302`, `200 TEXT`: with this status, and TEXT as the body. A status of 300 to 399 redirects to
///   `http://10.0.0.2/login`.
/// - `to PLACE`: with a 302 that redirects to PLACE.
/// - `hang`: never.
/// - `close`: by closing the connection after the request.
/// - `raw TEXT`: with TEXT and an empty line, before a request comes.
/// - `cut`: by closing the connection when any bytes have come.
///
/// The server prints `set` for each line of standard input, `asked HEAD` for each request, with `|` between the lines
/// of its head, and `gone` when a client leaves that was never answered.
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
