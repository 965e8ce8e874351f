import Foundation
import Netwatch

@testable import NetwatchHTTP

/// A server with one file. It can cut the body short, change the file, and answer incorrectly.
final class PartServer: Sendable {
  struct Behaviour: Sendable {
    var content: Data
    /// The header lines that state the version of the file.
    var validators = "ETag: \"1\"\r\n"
    /// The number of bytes of the body after which the connection ends. Nil if the body is not cut.
    var cut: Int?
    /// The number of answers that are cut. Nil if all are cut.
    var cuts: Int?
    /// The number of answers, after the first one, that have the status 503.
    var busy = 0
    /// Makes the answer to a request for a part. Nil for a correct answer.
    var answerToPart: (@Sendable (_ offset: Int, _ content: Data) -> (head: String, body: Data))?
    /// The status of every answer, which then has an error page as its body. Nil for the answers that are described
    /// above.
    var status: String?
  }

  private let behaviour: Lock<Behaviour>
  private let heads = Lock<[String]>([])
  private let server: Lock<ScriptedServer?> = Lock(nil)
  let url: URL

  init(_ behaviour: Behaviour) throws {
    self.behaviour = Lock(behaviour)
    let own = WeakServer()
    let server = try ScriptedServer { connection, _ in
      while let head = connection.readHead(), own.server?.answer(head, connection) == true {}
    }
    url = server.url.appending(path: "file")
    self.server.withLock { $0 = server }
    own.server = self
  }

  deinit { server.withLock { $0 }?.stop() }

  private final class WeakServer: Sendable {
    private struct Reference { weak var server: PartServer? }
    private let reference = Lock(Reference())
    var server: PartServer? {
      get { reference.withLock { $0.server } }
      set { reference.withLock { $0.server = newValue } }
    }
  }

  func change(_ body: @Sendable (inout Behaviour) -> Void) { behaviour.withLock { body(&$0) } }

  /// Returns the value of a field, for each request; nil for a request without it.
  ///
  /// - Parameter name: The name of the field, in lower case.
  func fields(_ name: String) -> [String?] { heads.withLock { $0.map { Self.field(name, of: $0) } } }

  private static func field(_ name: String, of head: String) -> String? {
    head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("\(name): ") }
      .map { String($0.dropFirst(name.count + 2)) }
  }

  /// - Returns: Whether the connection can take another request.
  private func answer(_ head: String, _ connection: ServerConnection) -> Bool {
    let number = heads.withLock { heads in
      heads.append(head)
      return heads.count
    }
    var behaviour = behaviour.withLock { $0 }
    if number > 1, number <= 1 + behaviour.busy { behaviour.status = "503 Busy" }
    let content = behaviour.content
    let version = "\(behaviour.validators)Date: Mon, 07 Nov 2022 08:49:37 GMT\r\n"
    let range = Self.field("range", of: head)
    let condition = Self.field("if-range", of: head)
    let offset = range.flatMap { Int($0.dropFirst("bytes=".count).dropLast()) }
    var (first, body) = ("HTTP/1.1 200 OK\r\n\(version)", content)
    if let status = behaviour.status {
      (first, body) = ("HTTP/1.1 \(status)\r\n", Data("an error page that must not land in a file".utf8))
    } else if let offset, let answer = behaviour.answerToPart {
      (first, body) = answer(offset, content)
    } else if let offset, condition.map({ version.contains(": \($0)\r\n") }) ?? true {
      if offset < content.count {
        first = "HTTP/1.1 206 Partial Content\r\n\(version)"
        first += "Content-Range: bytes \(offset)-\(content.count - 1)/\(content.count)\r\n"
        body = content[offset...]
      } else {
        (first, body) = ("HTTP/1.1 416 No\r\nContent-Range: bytes */\(content.count)\r\n", Data("no".utf8))
      }
    }
    connection.write("\(first)Content-Length: \(body.count)\r\n\r\n")
    guard let cut = behaviour.cut, cut < body.count, behaviour.status == nil, mayCut() else {
      return connection.write(body)
    }
    connection.write(Data(body.prefix(cut)))
    connection.finish()
    return false
  }

  private func mayCut() -> Bool {
    behaviour.withLock { behaviour in
      guard let cuts = behaviour.cuts else { return true }
      behaviour.cuts = max(cuts - 1, 0)
      return cuts > 0
    }
  }
}

extension ServerConnection {
  /// Ends the connection after the bytes that were written. It also reads what has arrived: if unread bytes are left,
  /// the kernel sends a reset when the socket is closed.
  func finish() {
    stop()
    waitForEnd()
  }
}
