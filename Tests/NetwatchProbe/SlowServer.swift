import CLinux
import Foundation
import Glibc

/// An HTTP server on port 80 of both families that answers slowly. It prints `asked NANOSECONDS` when it is asked, and
/// `answered NANOSECONDS` with the moment just before the last byte of its answer leaves. Both times are on the
/// monotonic clock.
///
/// - `/wait/MS`: the whole answer after MS milliseconds.
/// - `/wait/go`: the whole answer to each waiting request when a line of standard input comes.
/// - `/drip/MS`: a byte every tenth of a second for MS milliseconds.
/// - `/drip/go`: a byte every tenth of a second until a line of standard input comes.
/// - `/socket/MS`: a WebSocket on which the server sends a ping every MS milliseconds. It prints `pong` for each reply.
enum SlowServer {
  /// The condition that wakes the threads that wait for a line of standard input.
  private static let hasLine = NSCondition()
  /// The number of lines of standard input so far. It is used only while ``hasLine`` is locked.
  nonisolated(unsafe) private static var lines = 0

  static func run() throws {
    let listener = try listen()
    signal(SIGPIPE, SIG_IGN)
    say("ready")
    Thread.detachNewThread {
      while readLine() != nil {
        hasLine.withLock {
          unsafe lines += 1
          hasLine.broadcast()
        }
      }
    }
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { continue }
      Thread.detachNewThread { serve(client) }
    }
  }

  private static var lineCount: Int { hasLine.withLock { unsafe lines } }

  private static func waitForLine(after count: Int) {
    hasLine.withLock { while unsafe lines == count { hasLine.wait() } }
  }

  /// Creates a socket that listens at a port of both families.
  static func listen(port: UInt16 = 80) throws -> CInt {
    let listener = socket(AF_INET6, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    let length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let code = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(listener, $0, length) }
    }
    guard listener >= 0, code == 0, Glibc.listen(listener, 4_096) == 0 else { throw ProbeFailure("bind: \(errno)") }
    return listener
  }

  private static func serve(_ client: CInt) {
    defer { close(client) }
    while let path = nextPathWithBody(client) {
      let parts = path.split(separator: "/")
      guard parts.count == 2, parts[1] == "go" || UInt32(parts[1]) != nil else { return }
      let milliseconds = UInt32(parts[1]) ?? 0
      // The lines are counted before `asked` is printed. The test may write the line for this request as soon as it
      // reads that.
      let before = lineCount
      note("asked", at: now())
      let end: Int
      switch parts[0] {
      case "wait":
        if parts[1] == "go" { waitForLine(after: before) } else { usleep(milliseconds * 1_000) }
        end = now()
        send(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      case "drip" where parts[1] == "go":
        send(client, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while lineCount == before {
          send(client, "1\r\nx\r\n")
          usleep(100_000)
        }
        end = now()
        send(client, "0\r\n\r\n")
      case "drip":
        let count = milliseconds / 100
        send(client, "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
        var last = now()
        for _ in 0..<count {
          usleep(100_000)
          last = now()
          send(client, "x")
        }
        end = last
      default: return ping(client, every: milliseconds)
      }
      note("answered", at: end)
    }
  }

  private static func ping(_ client: CInt, every milliseconds: UInt32) {
    let end = now()
    send(client, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    note("answered", at: end)
    var pong = [UInt8](repeating: 0, count: 64)
    while true {
      usleep(milliseconds * 1_000)
      send(client, "\u{9}\u{0}")
      guard unsafe recv(client, &pong, pong.count, 0) > 0 else { return }
      say("pong")
    }
  }

  /// Waits for the next request and all of its body, and returns its path; nil if the client has closed the connection.
  private static func nextPathWithBody(_ client: CInt) -> String? {
    guard let (head, beginning) = nextHeadAndMore(client) else { return nil }
    var body = beginning
    let fields = head.lowercased()
    let length = fields.firstMatch(of: /content-length: *([0-9]+)/).flatMap { Int($0.output.1) } ?? 0
    let isChunked = fields.contains("transfer-encoding: chunked")
    while isChunked ? !body.hasSuffix("0\r\n\r\n") : body.utf8.count < length {
      guard let more = receive(client) else { return nil }
      body += more
    }
    return head.split(separator: " ").dropFirst().first.map(String.init)
  }

  /// Returns the head of the next request without the part of a body that came with it; nil if the client has closed
  /// the connection.
  static func nextHead(_ client: CInt) -> String? { nextHeadAndMore(client)?.head }

  private static func nextHeadAndMore(_ client: CInt) -> (head: String, more: String)? {
    var text = ""
    while text.utf8.count < 65_536 {
      guard let more = receive(client) else { return nil }
      text += more
      if let end = text.range(of: "\r\n\r\n") {
        return (String(text[..<end.upperBound]), String(text[end.upperBound...]))
      }
    }
    return nil
  }

  private static func receive(_ client: CInt) -> String? {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe recv(client, &buffer, buffer.count, 0)
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }

  static func send(_ client: CInt, _ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = unsafe Glibc.send(client, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL)) }
  }

  /// Returns the time on the monotonic clock, in nanoseconds.
  private static func now() -> Int {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1_000_000_000 + now.tv_nsec
  }

  private static func note(_ what: String, at time: Int) { say("\(what) \(time)") }
}

/// `clients HOST COUNT PATH`: clients of the slow server that stay connected. With a path below `/socket/`, the first
/// client is a WebSocket that answers pings.
enum SlowClients {
  static func run(_ host: String, _ count: Int, _ path: String) throws {
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(host, "80", &hints, &found) == 0, let address = unsafe found?.pointee else {
      throw ProbeFailure("no address")
    }
    var sockets: [CInt] = []
    for _ in 0..<count {
      let descriptor = unsafe socket(address.ai_family, CInt(SOCK_STREAM.rawValue), 0)
      guard unsafe connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 else {
        throw ProbeFailure("connect: \(errno)")
      }
      let request = Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
      _ = unsafe send(descriptor, request, request.count, 0)
      sockets.append(descriptor)
    }
    say("ready")
    guard path.hasPrefix("/socket/") else {
      while true { pause() }
    }
    // Whatever comes after the response to the upgrade is answered with a masked pong.
    var bytes = [UInt8](repeating: 0, count: 4_096)
    var isOpen = false
    while unsafe recv(sockets[0], &bytes, bytes.count, 0) > 0 {
      if isOpen { _ = unsafe send(sockets[0], [0x8a, 0x80, 1, 2, 3, 4] as [UInt8], 6, 0) }
      isOpen = true
    }
  }
}
