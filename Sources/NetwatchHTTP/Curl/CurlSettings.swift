import CLibCurl
import HTTPTypes
import Netwatch

/// The settings of libcurl for all requests of a session.
struct CurlSettings {
  /// The user agent; nil sends none.
  var userAgent: String?
  var acceptsCompressedResponses = true
  var version = HTTPVersion.http2
  /// The versions of TLS, as in CURLOPT_SSLVERSION.
  var tlsVersions = Int(CURL_SSLVERSION_TLSv1_2)
  var proxies = CurlProxies()
  /// The path of a Unix socket, which replaces the connection to the server.
  var unixSocketPath: String?
  var localEndpoint: LocalEndpoint?
  var serviceType = HTTPServiceType.standard
  var connectionsPerHost = 6
  /// The most connections to all hosts; nil for no limit.
  var connections: Int?
  /// The most connections that are kept between requests; nil for the default.
  var idleConnections: Int?
  /// In seconds, like the following two.
  var keepAliveInterval: Int?
  var idleConnectionAge = 118
  var connectionAge: Int?

  /// The most connections that are kept between requests. libcurl's default number falls with the number of transfers, and
  /// would close connections whenever few transfers are running.
  var mostIdle: Int { idleConnections ?? max(4 * connectionsPerHost, 64) }
  var mostToOneHost: Int { min(connectionsPerHost, connections ?? .max) }
  /// The most parts into which the connections can be divided. A part of 0 connections would mean no limit to libcurl.
  var mostParts: Int { min(mostToOneHost, mostIdle) }

  /// Returns the settings of several engines, which together have no more connections than these settings allow.
  ///
  /// - Parameter count: The number of engines, at most ``mostParts``.
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

  /// Returns a request with the fields that libcurl adds, as far as they may select one of several stored responses.
  func completed(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    if request.headerFields[.userAgent] == nil { request.headerFields[.userAgent] = userAgent }
    // A response in an encoding that the request itself asks for is delivered as it is, and any other is decompressed.
    if !acceptsCompressedResponses, request.headerFields[.acceptEncoding] == nil {
      request.headerFields[.acceptEncoding] = "identity"
    }
    return request
  }

  /// Sets the options that libcurl needs before it makes or chooses a connection.
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
    // Connections to a Unix socket have no addresses, so the one that a request uses again could not be looked at before:
    // ``CurlEasy/dropLeftover()``.
    if unixSocketPath != nil, isSecure || version != .http2PriorKnowledge { easy.set(CURLOPT_FORBID_REUSE, 1) }
    switch version {
    // A libcurl without HTTP/2 refuses the option.
    case .http2 where isSecure && CurlLibrary.speaksHTTP2, .http2PriorKnowledge where isSecure:
      easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    case .http2PriorKnowledge:
      easy.assumesHTTP2 = true
      easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE))
      if !CurlLibrary.reusesPlainHTTP2 {
        easy.set(CURLOPT_FRESH_CONNECT, 1)
        return easy.set(CURLOPT_FORBID_REUSE, 1)
      }
    case .http1_1, .http2: return easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    }
    // Share a connection that is being made, instead of making another one.
    easy.set(CURLOPT_PIPEWAIT, 1)
  }
}
