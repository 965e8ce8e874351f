import CLibCurl
import CLinux
import Glibc
import Netwatch

/// Host names as this system knows them: by its hosts file, name servers and whatever else nsswitch.conf(5) names.
extension NameLookups {
  /// A name can have thousands of addresses. A connection is tried to each in turn, until one succeeds.
  private static let mostAddresses = 64

  /// Waits for the answer, which can take as long as resolv.conf(5) says: with one mute name server 10 s.
  ///
  /// - Returns: In the order in which they are to be tried (RFC 6724). None if all of them lead no further than a link, which
  ///   an ``IPAddress`` cannot say. The failure is `notResolved`.
  static func addresses(of name: String) -> Answer {
    var hints = unsafe addrinfo()
    unsafe hints.ai_family = AF_UNSPEC
    unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(name, nil, &hints, &list)
    defer { if let list = unsafe list { unsafe freeaddrinfo(list) } }
    guard code == 0 else { return .failure(failure(of: name, code)) }
    var addresses: [IPAddress] = []
    var next = unsafe list
    while let entry = unsafe next?.pointee, addresses.count < mostAddresses {
      unsafe next = entry.ai_next
      guard let name = unsafe entry.ai_addr, let address = unsafe SocketAddress(name), address.scope == 0 else {
        continue
      }
      if !addresses.contains(address.address) { addresses.append(address.address) }
    }
    return .success(addresses)
  }

  private static func failure(of name: String, _ code: CInt) -> HTTPError {
    let reason = unsafe code == EAI_SYSTEM ? strerror(errno) : UnsafeMutablePointer(mutating: gai_strerror(code))
    let words = unsafe reason.map { unsafe ": \(String(cString: $0))" } ?? ""
    return HTTPError(CURLE_COULDNT_RESOLVE_HOST, "request", message: "Could not resolve host: \(name)\(words)")
  }

  /// Whether a host needs no lookup: it is an address, also in one of the old spellings of IPv4, or this machine itself
  /// (RFC 6761, section 6.3).
  static func isKnown(_ host: String) -> Bool {
    var address = in_addr()
    let isNumber = unsafe inet_aton(host, &address) != 0
    if isNumber || host.hasPrefix("[") { return true }
    let labels = host.lowercased().split(separator: ".")
    return labels.last == "localhost"
  }
}
