import CLibCurl
import Netwatch

/// The addresses of hosts that libcurl is given.
extension CurlEasy {
  /// Makes libcurl forget the addresses of hosts, which it keeps for a minute, before the prepared request.
  func forget(_ hosts: [Authority]) { setNames(hosts.flatMap { Self.entries("-", $0) }) }

  /// Repeats the request with the addresses that libcurl wanted to look up. libcurl keeps them for a minute.
  func repeatAttempt(with addresses: [IPAddress], of host: Authority) {
    repeatAttempt()
    let list = addresses.map { $0.family == .ipv6 ? "[\($0)]" : $0.description }.joined(separator: ",")
    setNames(Self.entries("+", host).map { "\($0):\(list)" })
  }

  /// Some versions of libcurl drop the dot at the end of a name, others keep it.
  private static func entries(_ sign: String, _ host: Authority) -> [String] {
    let port = host.port ?? 80
    let name = host.host.hasSuffix(".") ? [String(host.host.dropLast()), host.host] : [host.host]
    return name.map { "\(sign)\($0):\(port)" }
  }

  private func setNames(_ entries: [String]) {
    for entry in entries { unsafe names = append(entry, to: names) }
    check(unsafe netwatch_curl_set_pointer(handle, CURLOPT_RESOLVE, UnsafeMutableRawPointer(names)))
  }
}
