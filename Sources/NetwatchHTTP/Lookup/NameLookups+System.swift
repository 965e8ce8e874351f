import CLibCurl
import CLinux
import Glibc
import Netwatch

/// Host names as this system knows them: from its hosts file, its name servers, and all else in nsswitch.conf(5).
extension NameLookups {
  /// The most addresses of a name, which can have thousands. A connection tries each one in turn until it succeeds.
  private static let mostAddresses = 64

  /// Looks up the addresses of a name. Waits as long as resolv.conf(5) allows: with one silent name server, 10 s.
  ///
  /// - Returns: The addresses in the order in which they are to be tried (RFC 6724). None if all of them are limited to a link,
  ///   which an ``IPAddress`` cannot express. The failure is `notResolved`.
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

  /// Returns whether a host needs no lookup: it is an address, also in one of the old spellings of IPv4, or this machine itself
  /// (RFC 6761, section 6.3).
  static func isKnown(_ host: String) -> Bool {
    var address = in_addr()
    let isNumber = unsafe inet_aton(host, &address) != 0
    if isNumber || host.hasPrefix("[") { return true }
    let labels = host.lowercased().split(separator: ".")
    return labels.last == "localhost"
  }
}
