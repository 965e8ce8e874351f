import Foundation
import Netwatch
import NetwatchTestSupport

@testable import NetwatchHTTP

/// A server of server-sent events that understands `Last-Event-ID`, and breaks off connections at any byte.
final class EventServer: Sendable {
  let events: [ServerSentEvent]
  let server: ScriptedServer
  private let requests = Box<[String]>([])

  /// - Parameters:
  ///   - count: The number of events. A request for events after the last one is answered with 204.
  ///   - outages: The number of connections that are broken off.
  ///   - preface: The text that is sent first on each connection.
  ///   - seed: The seed of the random events and outages.
  init(count: Int, outages: Int, preface: String, seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let events = (1...count).map { Self.event($0, &random) }
    self.events = events
    let bytes = events.map { Data(Self.text(of: $0, &random).utf8) }
    let average = bytes.reduce(0) { $0 + $1.count } / (outages + 1)
    server = try ScriptedServer { [requests] connection, number in
      guard let head = connection.readHead() else { return }
      requests.change { $0.append(head) }
      let first = head.firstMatch(of: /(?i)last-event-id: (\d+)\r\n/).flatMap { Int($0.1) } ?? 0
      guard first < count else {
        connection.write("HTTP/1.1 204 No Content\r\n\r\n")
        return
      }
      var random = SplitMix(seed: seed &+ UInt64(number))
      let rest = bytes[first...].reduce(into: Data(preface.utf8)) { $0 += $1 }
      // A cut leaves the last event incomplete, so that the client has to connect again after each outage.
      let cut = min(Int.random(in: 0...(2 * average), using: &random), rest.count - 2)
      var left = number < outages ? rest.prefix(cut) : rest
      let isChunked = random.oneIn(2)
      let fields = isChunked ? "Transfer-Encoding: chunked\r\n" : ""
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream;charset=utf-8\r\n\(fields)\r\n")
      while !left.isEmpty {
        let part = left.prefix(Int.random(in: 1...8_192, using: &random))
        left = left.dropFirst(part.count)
        let frame = isChunked ? Data("\(String(part.count, radix: 16))\r\n".utf8) + part + Data("\r\n".utf8) : part
        guard connection.write(Data(frame)) else { return }
      }
      if isChunked, random.oneIn(2) { connection.write("0\r\n\r\n") }
      if random.oneIn(3) { connection.reset() }
    }
  }

  deinit { server.stop() }

  var url: URL { server.url }
  var requestCount: Int { requests.now.count }

  /// Returns the values of a field, one for each request that has it.
  func values(_ name: String) -> [String] {
    requests.now.flatMap { head in
      head.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("\(name.lowercased()): ") }
        .map { String($0.dropFirst(name.count + 2)) }
    }
  }

  private static func event(_ number: Int, _ random: inout SplitMix) -> ServerSentEvent {
    let lines = (0..<Int.random(in: 1...3, using: &random)).map { _ in
      String(repeating: "ü€x", count: Int.random(in: 0...20, using: &random)) + "\(number)"
    }
    let type = random.oneIn(3) ? "price" : "message"
    return ServerSentEvent(type: type, data: lines.joined(separator: "\n"), id: "\(number)")
  }

  private static func text(of event: ServerSentEvent, _ random: inout SplitMix) -> String {
    let end = ["\n", "\r", "\r\n"][Int.random(in: 0..<3, using: &random)]
    var lines = event.data.split(separator: "\n", omittingEmptySubsequences: false).map { "data: \($0)" }
    lines.insert("id: \(event.id)", at: Int.random(in: 0...lines.count, using: &random))
    if event.type != "message" { lines.append("event:\(event.type)") }
    if random.oneIn(5) { lines.insert(": still here", at: 0) }
    return lines.joined(separator: end) + end + end
  }
}
