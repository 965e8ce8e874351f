import Glibc
import NetwatchEventLoop

/// `advertise LINK SECONDS [uri=URI] [server=ADDRESS] [prefix=ADDRESS,LENGTH-CODE,SECONDS]`: sends a router advertisement (RFC 4861) over a link. It has a default route that lasts
/// this long, and the prefix 2a02:9::/64, from which hosts form addresses; and the URI of the captive portal's API
/// (RFC 8910), a name server (RFC 8106) and a prefix of NAT64 (RFC 8781) if they are given. Then prints the time of the monotonic clock at which it was sent, in nanoseconds.
enum RouterAdvertisement {
  static func send(from link: String, lifetime: UInt16, _ options: [String]) throws {
    // The value of SOCK_RAW of socket(2). The Glibc module has the name only beside other modules that include more
    // headers.
    let raw: CInt = 3
    let descriptor = socket(AF_INET6, raw, CInt(IPPROTO_ICMPV6))
    let index = unsafe if_nametoindex(link)
    guard descriptor >= 0, index > 0 else { throw ProbeFailure("no socket or no link: \(errno)") }
    // Receivers drop advertisements with another hop limit, because a router may have forwarded those.
    var hops: CInt = 255
    unsafe setsockopt(
      descriptor, CInt(IPPROTO_IPV6), IPV6_MULTICAST_HOPS, &hops, socklen_t(MemoryLayout<CInt>.size))
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_scope_id = index
    guard unsafe inet_pton(AF_INET6, "ff02::1", &address.sin6_addr) == 1 else { throw ProbeFailure("inet_pton") }
    let seconds = [UInt8(lifetime >> 8), UInt8(lifetime & 0xff)]
    // The type, the code, the checksum, which the kernel fills in, the hop limit, the flags, the lifetime, and two
    // timers.
    let head: [UInt8] = [134, 0, 0, 0, 64, 0] + seconds + [0, 0, 0, 0, 0, 0, 0, 0]
    // The prefix option: 64 bits, on-link and for autonomous addresses, valid and preferred for an hour.
    let hour: [UInt8] = [0, 0, 14, 16]
    let prefix: [UInt8] =
      [3, 4, 64, 0xc0] + hour + hour + [0, 0, 0, 0, 0x2a, 2, 0, 9] + [UInt8](repeating: 0, count: 12)
    let message = head + prefix + options.flatMap(option)
    let now = KernelClock.monotonic.nanoseconds
    let sent = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe sendto(descriptor, message, message.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
      }
    }
    guard sent == message.count else { throw ProbeFailure("sendto: \(errno)") }
    say("\(now)")
  }

  /// Returns the option of the advertisement that a word asks for.
  private static func option(_ word: String) -> [UInt8] {
    let value = String(word.drop { $0 != "=" }.dropFirst())
    return switch word.prefix(while: { $0 != "=" }) {
    case "uri": captivePortal(value)
    case "server": nameServer(value)
    case "prefix": translationPrefix(value.split(separator: ",").map(String.init))
    default: []
    }
  }

  /// Returns the option with a prefix of NAT64, from its address, the code of its length, and its lifetime in seconds.
  private static func translationPrefix(_ words: [String]) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 16)
    guard words.count == 3, unsafe inet_pton(AF_INET6, words[0], &bytes) == 1, let code = UInt16(words[1]),
      let seconds = UInt16(words[2])
    else { return [] }
    let lifetime = ((seconds / 8) << 3) | code
    return [38, 2, UInt8(lifetime >> 8), UInt8(lifetime & 0xff)] + bytes.prefix(12)
  }

  /// Returns the option with a name server that may be used for ten minutes.
  private static func nameServer(_ address: String) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 16)
    _ = unsafe inet_pton(AF_INET6, address, &bytes)
    return [25, 3, 0, 0, 0, 0, 2, 88] + bytes
  }

  /// Returns the option with a URI: the type, the length in units of eight bytes, and the URI with zeros behind it.
  private static func captivePortal(_ uri: String) -> [UInt8] {
    let bytes = Array(uri.utf8)
    let units = (bytes.count + 2 + 7) / 8
    return [37, UInt8(units)] + bytes + [UInt8](repeating: 0, count: units * 8 - 2 - bytes.count)
  }
}
