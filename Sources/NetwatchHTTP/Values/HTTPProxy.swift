/// The proxy that a session uses for its connections.
public struct HTTPProxy: Hashable, Sendable {
  enum Scheme: String, Hashable, Sendable {
    case http, https, socks5
    /// The proxy resolves the names of servers.
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

  /// The proxies from the environment variables `http_proxy`, `https_proxy` and `all_proxy`, read when the session is made. The
  /// hosts in `no_proxy` are reached directly.
  public static let environment = HTTPProxy(choice: .environment)
  /// No proxy, whatever the environment variables name.
  public static let direct = HTTPProxy(choice: .direct)

  /// Returns a proxy that uses HTTP. Requests with https go through a tunnel (CONNECT), whose content the proxy cannot read.
  ///
  /// - Parameters:
  ///   - host: The name or the address of the proxy.
  ///   - port: The port of the proxy, such as 3128.
  ///   - credential: The credential for the proxy, sent to the proxy only. Default: nil, none.
  ///   - exceptions: The hosts that are reached without the proxy: names, addresses, and networks such as `10.0.0.0/8`. A name
  ///     includes its subdomains. Default: none.
  public static func http(
    _ host: String, port: Int, credential: HTTPCredential? = nil, exceptions: [String] = []
  ) -> HTTPProxy {
    make(.http, host, port, credential, exceptions)
  }

  /// Returns a proxy that uses HTTP over TLS. Nobody on the way to the proxy can read the credential or the names of servers.
  ///
  /// The policy of the session judges the certificate of the proxy. ``HTTPSessionConfiguration/hostPolicies`` and
  /// ``HTTPSessionConfiguration/refusesHostsWithoutPolicy`` do not apply to the proxy. TLS sessions are not resumed with such a
  /// proxy.
  ///
  /// - Parameters:
  ///   - host: The name or the address of the proxy.
  ///   - port: The port of the proxy, such as 443.
  ///   - credential: The credential for the proxy, sent to the proxy only. Default: nil, none.
  ///   - exceptions: The hosts that are reached without the proxy, as for ``http(_:port:credential:exceptions:)``. Default:
  ///     none.
  public static func https(
    _ host: String, port: Int, credential: HTTPCredential? = nil, exceptions: [String] = []
  ) -> HTTPProxy {
    make(.https, host, port, credential, exceptions)
  }

  /// Returns a proxy that uses SOCKS 5 (RFC 1928).
  ///
  /// - Parameters:
  ///   - host: The name or the address of the proxy.
  ///   - port: The port of the proxy, such as 1080.
  ///   - credential: The user and the password (RFC 1929), at most 255 bytes each. Default: nil, none.
  ///   - looksUpNames: Whether this machine resolves the names of servers. Default: false; the proxy resolves them, and the
  ///     name servers of this machine never see them.
  ///   - exceptions: The hosts that are reached without the proxy, as for ``http(_:port:credential:exceptions:)``. Default:
  ///     none.
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
    // The canonical form would drop a zone.
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

extension HTTPProxy: CustomStringConvertible {
  /// The URL of the proxy, such as `http://proxy.example:3128`, or `environment` or `direct`. The credential is left out, so that no
  /// log gets it.
  public var description: String {
    switch choice {
    case .environment: "environment"
    case .direct: "direct"
    case .server(let server): "\(server.scheme)://\(Authority(server.host, server.port).text)"
    }
  }
}
