import CLinux
import Glibc

/// A SOCKS5 proxy (RFC 1928) at port 80 that connects to no server. It prints the IPv4 address that it is asked for,
/// such as `asked 10.9.0.9`, and answers the request itself.
enum SocksServer {
  static func run() throws {
    let listener = try SlowServer.listen()
    say("ready")
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { continue }
      serve(client)
      close(client)
    }
  }

  private static func serve(_ client: CInt) {
    guard let greeting = read(2, from: client), greeting[0] == 5, read(Int(greeting[1]), from: client) != nil else {
      return
    }
    write([5, 0], to: client)
    // The version, the command, a zero and the type of the address come first, and then the address and the port.
    guard let head = read(4, from: client) else { return }
    guard head[3] == 1, let rest = read(6, from: client) else { return say("asked for no IPv4 address") }
    say("asked \(rest[..<4].map(String.init).joined(separator: "."))")
    write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0], to: client)
    guard SlowServer.nextHead(client) != nil else { return }
    SlowServer.send(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
  }

  private static func read(_ count: Int, from client: CInt) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return unsafe recv(client, &bytes, count, CInt(MSG_WAITALL)) == count ? bytes : nil
  }

  private static func write(_ bytes: [UInt8], to client: CInt) {
    _ = unsafe send(client, bytes, bytes.count, CInt(MSG_NOSIGNAL))
  }
}
