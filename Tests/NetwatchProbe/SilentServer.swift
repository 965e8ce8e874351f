import CLinux
import Glibc

/// A name server on 127.0.0.1 that never answers. It prints `silent` when it listens, and `asked` for each question.
enum SilentServer {
  private static let port: UInt16 = 53

  static func run() throws {
    let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(descriptor, $0, length) }
    }
    guard descriptor >= 0, code == 0 else { throw ProbeFailure("bind: \(errno)") }
    say("silent")
    var question = [UInt8](repeating: 0, count: 512)
    while unsafe recv(descriptor, &question, question.count, 0) > 0 { say("asked") }
  }
}
