import CLinux
import Glibc

/// `datagrams ADDRESS LINK COUNT SIZE`: sends datagrams over a link to a port at which nobody listens, and ends when
/// the kernel has taken them.
///
/// With `-` as LINK, the kernel chooses the link. With a COUNT of 0, ten datagrams a second are sent without end. If
/// nobody has the address, the kernel looks for a neighbour, and keeps the datagrams or drops them.
enum Datagrams {
  /// The port of the discard service.
  private static let port: UInt16 = 9

  static func run(_ host: String, over link: String, count: Int, size: Int) throws {
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = CInt(SOCK_DGRAM.rawValue)
    unsafe hints.ai_flags = AI_NUMERICHOST
    var found: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(host, "\(port)", &hints, &found) == 0, let address = unsafe found?.pointee else {
      throw ProbeFailure("'\(host)' is not an address")
    }
    let descriptor = unsafe socket(address.ai_family, CInt(SOCK_DGRAM.rawValue), 0)
    guard descriptor >= 0 else { throw ProbeFailure("socket: \(errno)") }
    if link != "-" {
      guard unsafe setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, link, socklen_t(link.utf8.count)) == 0 else {
        throw ProbeFailure("SO_BINDTODEVICE: \(errno)")
      }
    }
    let bytes = [UInt8](repeating: 0, count: size)
    var sent = 0
    while count == 0 || sent < count {
      sent += 1
      guard unsafe sendto(descriptor, bytes, bytes.count, 0, address.ai_addr, address.ai_addrlen) == bytes.count else {
        throw ProbeFailure("sendto: \(errno)")
      }
      if count == 0 { usleep(100_000) }
    }
  }
}
