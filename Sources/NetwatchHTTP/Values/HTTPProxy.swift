/// The proxy of a session.
public struct HTTPProxy: Hashable, Sendable {
  enum Scheme: String, Hashable, Sendable {
    case http, https, socks5
    /// The proxy looks the names of servers up.
    case socks5h
  }

  struct Server: Hashable, Sendable {
    let scheme: Scheme
    let host: String
    let port: Int
    let credential: HTTPCredential?
    let exceptions: [String]
  }

  enum Choice: Hashable, Sendable {
    case environment
    case direct
    case server(Server)
  }

  let choice: Choice

  /// The proxies that the environment names when the session is made: `http_proxy`, `https_proxy` and `all_proxy`, but for the
  /// hosts of `no_proxy`.
  public static let environment = HTTPProxy(choice: .environment)
  /// No proxy, whatever the environment says.
  public static let direct = HTTPProxy(choice: .direct)

  /// A proxy that speaks HTTP. Requests with https go through a tunnel (CONNECT), in which the proxy reads nothing.
  ///
  /// - Parameters:
  ///   - host: The name or the address of the proxy.
  ///   - port: Of the proxy, such as 3128.
  ///   - credential: Sent to the proxy alone; nil for a proxy that wants none. Default: nil.
  ///   - exceptions: The hosts that are reached without the proxy: names, which stand for their subdomains as well, addresses,
  ///     and networks such as `10.0.0.0/8`. Default: none.
  public static func http(
    _ host: String, port: Int, credential: HTTPCredential? = nil, exceptions: [String] = []
  ) -> HTTPProxy {
    make(.http, host, port, credential, exceptions)
  }

  /// A proxy that speaks HTTP within TLS, so that nobody on the way to it reads the credential or the names of servers.
  ///
  /// Its certificate is judged by the policy of the session, not by one of ``HTTPSessionConfiguration/hostPolicies``; in a session
  /// with ``HTTPSessionConfiguration/refusesHostsWithoutPolicy`` as well. TLS is not resumed in such a session.
  ///
  /// - Parameters:
  ///   - host: The name or the address of the proxy.
  ///   - port: Of the proxy, such as 443.
  ///   - credential: Sent to the proxy alone; nil for a proxy that wants none. Default: nil.
  ///   - exceptions: The hosts that are reached without the proxy, as for ``http(_:port:credential:exceptions:)``.
  public static func https(
    _ host: String, port: Int, credential: HTTPCredential? = nil, exceptions: [String] = []
  ) -> HTTPProxy {
    make(.https, host, port, credential, exceptions)
  }

  /// A proxy that speaks SOCKS 5 (RFC 1928).
  ///
  /// - Parameters:
  ///   - host: The name or the address of the proxy.
  ///   - port: Of the proxy, such as 1080.
  ///   - credential: The user and the password (RFC 1929), of at most 255 bytes each; nil for a proxy that wants none. Default: nil.
  ///   - looksUpNames: Whether this machine looks the names of servers up. Default: false, the proxy does, and no name server
  ///     of this machine hears of them.
  ///   - exceptions: The hosts that are reached without the proxy, as for ``http(_:port:credential:exceptions:)``.
  public static func socks5(
    _ host: String, port: Int, credential: HTTPCredential? = nil, looksUpNames: Bool = false, exceptions: [String] = []
  ) -> HTTPProxy {
    make(looksUpNames ? .socks5 : .socks5h, host, port, credential, exceptions)
  }

  private static func make(
    _ scheme: Scheme, _ host: String, _ port: Int, _ credential: HTTPCredential?, _ exceptions: [String]
  ) -> HTTPProxy {
    HTTPProxy(
      choice: .server(Server(scheme: scheme, host: host, port: port, credential: credential, exceptions: exceptions)))
  }
}

extension HTTPProxy.Server {
  /// - Throws: `badConfiguration`.
  func authority() throws(HTTPError) -> Authority {
    // A zone would be lost.
    guard !host.contains("%"), let name = HostName.canonical(host) else {
      throw refusal("'\(host)' is not a host; write a name or an address")
    }
    guard 1...65_535 ~= port else { throw refusal("\(port) is not a port; write a number from 1 to 65535") }
    let texts = [credential?.user ?? "", credential?.password ?? ""]
    guard !texts.contains(where: { $0.utf8.contains { $0 < 0x20 } }) else {
      throw refusal("the credential has a control character in it; leave it out")
    }
    let isSocks = scheme == .socks5 || scheme == .socks5h
    guard !isSocks || texts.allSatisfy({ $0.utf8.count <= 255 }) else {
      throw refusal("the user or the password is too long for SOCKS; use at most 255 bytes")
    }
    let allowed = Set("*.:/-_[]".utf8)
    for exception in exceptions {
      guard !exception.isEmpty, exception.utf8.allSatisfy({ $0.isAlphanumeric || allowed.contains($0) }) else {
        throw refusal("the exception '\(exception)' is not a host; write a name, an address or a network")
      }
    }
    return Authority(name.contains(":") ? "[\(name)]" : name, port)
  }

  private func refusal(_ message: String) -> HTTPError {
    HTTPError(.badConfiguration, "start session", message: "proxy: \(message)")
  }
}
