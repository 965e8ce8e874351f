import CLinux
import Foundation
import Glibc

/// `sink`: reads and drops whatever is sent to port 9000 of both families. Prints `ready` when it listens.
enum Sink {
  static func run() throws {
    let listener = try SlowServer.listen(port: 9_000)
    say("ready")
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { continue }
      Thread.detachNewThread {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while unsafe recv(client, &bytes, bytes.count, 0) > 0 {}
        close(client)
      }
    }
  }
}

/// `senders HOST COUNT RATE`: opens COUNT connections to a sink, each of which sends RATE bytes a second. Prints
/// `ready` when all are connected, and `sent` when each has sent a megabyte.
enum Senders {
  private static let chunks = 10

  static func run(_ host: String, _ count: Int, _ rate: Int) throws {
    signal(SIGPIPE, SIG_IGN)
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(host, "9000", &hints, &found) == 0, let address = unsafe found?.pointee else {
      throw ProbeFailure("no address")
    }
    let sockets = try (0..<count).map { _ in
      let descriptor = unsafe socket(address.ai_family, CInt(SOCK_STREAM.rawValue), 0)
      guard unsafe connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 else {
        throw ProbeFailure("connect: \(errno)")
      }
      return descriptor
    }
    say("ready")
    let done = DispatchSemaphore(value: 0)
    for descriptor in sockets {
      Thread.detachNewThread {
        let bytes = [UInt8](repeating: 120, count: max(1, rate / chunks))
        var sent = 0
        while true {
          let count = unsafe send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL))
          guard count > 0 else { return }
          if sent < 1_000_000, sent + count >= 1_000_000 { done.signal() }
          sent += count
          usleep(useconds_t(1_000_000 / chunks))
        }
      }
    }
    for _ in sockets { done.wait() }
    say("sent")
    while true { pause() }
  }
}

/// `ping ADDRESS`: sends an ICMP echo request every tenth of a second, and prints the time until each reply, in
/// microseconds.
enum Ping {
  static func run(_ host: String) throws {
    let descriptor = socket(AF_INET, CInt(SOCK_RAW.rawValue), CInt(IPPROTO_ICMP))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    guard descriptor >= 0, unsafe inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
      throw ProbeFailure("no socket: \(errno)")
    }
    var patience = timeval(tv_sec: 2, tv_usec: 0)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var number = UInt16(0)
    while true {
      number &+= 1
      // The type and the code of an echo request, the checksum, the identifier and the sequence number.
      var request: [UInt16] = [8, 0, UInt16(truncatingIfNeeded: getpid()), number]
      let sum = request.reduce(UInt32(0)) { $0 + UInt32($1) }
      request[1] = ~UInt16(truncatingIfNeeded: (sum & 0xffff) + (sum >> 16))
      let start = now()
      let sent = unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe sendto(descriptor, request, 8, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard sent == 8 else { throw ProbeFailure("sendto: \(errno)") }
      var answer = [UInt16](repeating: 0, count: 64)
      while true {
        let count = unsafe recv(descriptor, &answer, 128, 0)
        // No reply has come within two seconds.
        guard count > 0 else { break }
        // A raw socket receives the reply behind an IPv4 header of 20 bytes.
        if count >= 28, answer[12] == request[2], answer[13] == number, answer[10] & 0xff == 0 {
          say("\((now() - start) / 1_000)")
          break
        }
      }
      usleep(100_000)
    }
  }

  /// Returns the time on the monotonic clock, in nanoseconds.
  private static func now() -> Int {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1_000_000_000 + now.tv_nsec
  }
}
