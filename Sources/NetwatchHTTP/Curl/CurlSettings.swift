import CLibCurl
import Netwatch

/// What a session has libcurl do in all of its requests.
struct CurlSettings {
  /// Nil sends none.
  var userAgent: String?
  var acceptsCompressedResponses = true
  var version = HTTPVersion.http2
  /// Of TLS, as CURLOPT_SSLVERSION has them.
  var tlsVersions = Int(CURL_SSLVERSION_TLSv1_2)
  var proxies = CurlProxies()
  /// In the place of a connection to the server.
  var unixSocketPath: String?
  var localEndpoint: LocalEndpoint?
  var connectionsPerHost = 6
  /// To all hosts; nil for no limit.
  var connections: Int?
  /// That are kept between requests.
  var idleConnections: Int?
  /// Seconds, as in the following two.
  var keepAliveInterval: Int?
  var idleConnectionAge = 118
  var connectionAge: Int?

  /// How many are kept between requests. The library's own number falls with that of the transfers, and would close connections
  /// whenever few are under way.
  var mostIdle: Int { idleConnections ?? max(4 * connectionsPerHost, 64) }
  var mostToOneHost: Int { min(connectionsPerHost, connections ?? .max) }
  /// Into how many parts the connections can be divided: to libcurl, 0 is no limit.
  var mostParts: Int { min(mostToOneHost, mostIdle) }

  /// The settings of several engines, which together have no more connections than these settings allow.
  ///
  /// - Parameter count: At most ``mostParts``.
  func parts(_ count: Int) -> [CurlSettings] {
    (0..<count).map { index in
      func part(_ total: Int) -> Int { total / count + (index < total % count ? 1 : 0) }
      var settings = self
      settings.connectionsPerHost = part(connectionsPerHost)
      settings.connections = connections.map(part)
      settings.idleConnections = part(mostIdle)
      return settings
    }
  }

  /// What libcurl has to know before it makes or chooses a connection.
  func applyConnections(to easy: CurlEasy) {
    proxies.apply(to: easy)
    if let unixSocketPath { easy.set(CURLOPT_UNIX_SOCKET_PATH, unixSocketPath) }
    // An address is bound by `CurlSockets`.
    if case .interface(let name) = localEndpoint { easy.set(CURLOPT_INTERFACE, "if!\(name)") }
    if let keepAliveInterval {
      easy.set(CURLOPT_TCP_KEEPALIVE, 1)
      easy.set(CURLOPT_TCP_KEEPIDLE, keepAliveInterval)
      easy.set(CURLOPT_TCP_KEEPINTVL, keepAliveInterval)
    }
    easy.set(CURLOPT_MAXAGE_CONN, idleConnectionAge)
    if let connectionAge { easy.set(CURLOPT_MAXLIFETIME_CONN, connectionAge) }
  }

  func applyVersion(to easy: CurlEasy, isSecure: Bool) {
    switch version {
    // A libcurl that does not know HTTP/2 refuses to be asked for it.
    case .http2 where isSecure && CurlLibrary.speaksHTTP2, .http2PriorKnowledge where isSecure:
      easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    case .http2PriorKnowledge:
      easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE))
      if !CurlLibrary.reusesPlainHTTP2 {
        easy.set(CURLOPT_FRESH_CONNECT, 1)
        return easy.set(CURLOPT_FORBID_REUSE, 1)
      }
    case .http1_1, .http2: return easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    }
    // Rather share a connection that is being made than make another one.
    easy.set(CURLOPT_PIPEWAIT, 1)
  }
}
