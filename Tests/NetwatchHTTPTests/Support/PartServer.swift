import Foundation
import Netwatch

@testable import NetwatchHTTP

/// A server with one file, that can be cut short, change the file, and answer wrongly.
final class PartServer: Sendable {
  struct Behaviour: Sendable {
    var content: Data
    /// The header lines with the file's version.
    var validators = "ETag: \"1\"\r\n"
    /// The connection is reset after this many bytes of the body.
    var cut: Int?
    /// The number of answers that are cut; nil for all.
    var cuts: Int?
    /// The number of answers after the first one that say that the server is busy.
    var busy = 0
    /// Answers this to a request for a part; nil for an honest answer.
    var answerToPart: (@Sendable (_ offset: Int, _ content: Data) -> (head: String, body: Data))?
    /// Instead of all that, if it is no success.
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

  /// Of each request, its value of a field.
  func fields(_ name: String) -> [String?] {
    heads.withLock { heads in
      heads.map { head in
        head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("\(name): ") }
          .map { String($0.dropFirst(name.count + 2)) }
      }
    }
  }

  /// - Returns: whether the connection can take another request.
  private func answer(_ head: String, _ connection: ServerConnection) -> Bool {
    let number = heads.withLock { heads in
      heads.append(head)
      return heads.count
    }
    var behaviour = behaviour.withLock { $0 }
    if number > 1, number <= 1 + behaviour.busy { behaviour.status = "503 Busy" }
    let content = behaviour.content
    let version = "\(behaviour.validators)Date: Mon, 07 Nov 2022 08:49:37 GMT\r\n"
    let range = fields("range").last.flatMap { $0 }
    let condition = fields("if-range").last.flatMap { $0 }
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
  /// Says that nothing more comes, after what was written.
  func finish() {
    stop()
    waitForEnd()
  }
}
