import CLinux
import Glibc

/// Finds out what a program can reach. For each line of stdin, connects datagram sockets, which sends nothing, to
/// public addresses and to the addresses on that line. Prints `ADDRESS SOURCE` for each address that has a way, and
/// then an empty line.
enum Reach {
  /// Addresses of many networks. None of them has a special purpose, and no test has a route or rule for one alone.
  private static let addresses = [
    "1.1.1.1", "4.2.2.2", "8.8.8.8", "9.9.9.9", "17.0.0.1", "23.1.1.1", "31.13.24.1", "52.1.1.1", "64.6.64.6",
    "77.88.8.8",
    "80.80.80.80", "91.198.174.192", "104.16.1.1", "129.6.15.28", "140.82.112.3", "151.101.1.1", "176.103.130.130",
    "185.228.168.9", "199.7.83.42", "208.67.222.222", "2001:4860:4860::8888", "2001:500:1::53", "2001:67c:2e8::1",
    "2400:cb00:2048::1", "2404:6800:4008::1", "2600:1f18::1", "2606:4700:4700::1111", "2610:a1:1018::1", "2620:fe::fe",
    "2620:119:35::35", "2800:3f0:4001::1", "2801:80:10::1", "2a00:1450:4001::88", "2a01:4f8::1", "2a03:2880:f003::1",
    "2a04:4e42::81", "2a05:d018::1", "2a0c:e400::1", "2c0f:fb50:4002::1", "2c0f:f248::1",
  ]

  static func run() {
    while let line = readLine() {
      for address in addresses + line.split(separator: " ").map(String.init) {
        if let source = source(of: address) { say("\(address) \(source)") }
      }
      say("")
    }
  }

  private static func source(of address: String) -> String? {
    var hints = unsafe addrinfo()
    unsafe hints.ai_flags = AI_NUMERICHOST
    unsafe hints.ai_socktype = CInt(SOCK_DGRAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(address, "9", &hints, &found) == 0, let peer = unsafe found else { return nil }
    defer { unsafe freeaddrinfo(peer) }
    let descriptor = unsafe socket(peer.pointee.ai_family, peer.pointee.ai_socktype, 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard unsafe connect(descriptor, peer.pointee.ai_addr, peer.pointee.ai_addrlen) == 0 else { return nil }
    var own = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var text = [CChar](repeating: 0, count: 64)
    let named = unsafe withUnsafeMutablePointer(to: &own) { own in
      unsafe own.withMemoryRebound(to: sockaddr.self, capacity: 1) { own in
        unsafe getsockname(descriptor, own, &length) == 0
          && getnameinfo(own, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
      }
    }
    return named ? String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
  }
}
