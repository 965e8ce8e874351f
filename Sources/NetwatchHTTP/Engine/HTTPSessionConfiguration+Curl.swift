import CLibCurl
import Netwatch

/// The settings of libcurl and of OpenSSL that a configuration results in, if it can be used.
extension HTTPSessionConfiguration {
  /// - Throws: `badSecurityPolicy`.
  func sessionTrust(_ policy: SecurityPolicy) throws(HTTPError) -> SessionTrust {
    try SessionTrust(
      policy, hostPolicies, refusesOthers: refusesHostsWithoutPolicy, certificates: clientCertificates)
  }

  /// - Throws: `badConfiguration`.
  func curlSettings() throws(HTTPError) -> CurlSettings {
    var settings = CurlSettings(proxies: try CurlProxies(unixSocketPath == nil ? proxy : .direct))
    settings.userAgent = userAgent
    settings.acceptsCompressedResponses = acceptsCompressedResponses
    settings.version = httpVersion
    settings.serviceType = serviceType
    settings.tlsVersions = try tlsVersions()
    settings.unixSocketPath = try checkedSocketPath()
    settings.localEndpoint = try checkedEndpoint()
    settings.connectionsPerHost = try Self.check(maximumConnectionsPerHost, "maximumConnectionsPerHost")
    settings.connections = try maximumConnections.map { count throws(HTTPError) in
      try Self.check(count, "maximumConnections")
    }
    settings.idleConnections = try maximumIdleConnections.map { count throws(HTTPError) in
      try Self.check(count, "maximumIdleConnections")
    }
    settings.keepAliveInterval = try keepAliveInterval.map { time throws(HTTPError) in
      try Self.seconds(time, "keepAliveInterval", 1, 32_767)  // MAX_TCP_KEEPIDLE of Linux
    }
    settings.idleConnectionAge = try Self.seconds(maximumIdleTime, "maximumIdleTime", 0, .max)
    settings.connectionAge = try maximumConnectionAge.map { time throws(HTTPError) in
      try Self.seconds(time, "maximumConnectionAge", 1, .max)
    }
    if case .server(let server) = proxy.choice, server.scheme == .https, !CurlLibrary.reachesProxiesByTLS {
      throw Self.refusal("proxy: this libcurl cannot speak TLS with proxies; use HTTPProxy.http, or another libcurl")
    }
    if httpVersion == .http2PriorKnowledge, !CurlLibrary.speaksHTTP2 {
      throw Self.refusal("httpVersion: this libcurl does not know HTTP/2; use http1_1, or another libcurl")
    }
    return settings
  }

  private func tlsVersions() throws(HTTPError) -> Int {
    guard let newest = maximumTLSVersion else { return Self.oldest(minimumTLSVersion) }
    guard minimumTLSVersion <= newest else {
      throw Self.refusal(
        "maximumTLSVersion: \(newest) is older than minimumTLSVersion, \(minimumTLSVersion); lower one or raise the other"
      )
    }
    let most = newest == .v1_2 ? Int(CURL_SSLVERSION_MAX_TLSv1_2) : Int(CURL_SSLVERSION_MAX_TLSv1_3)
    return Self.oldest(minimumTLSVersion) | most
  }

  private static func oldest(_ version: TLSVersion) -> Int {
    version == .v1_2 ? Int(CURL_SSLVERSION_TLSv1_2) : Int(CURL_SSLVERSION_TLSv1_3)
  }

  private func checkedSocketPath() throws(HTTPError) -> String? {
    guard let unixSocketPath else { return nil }
    // sun_path of unix(7), with a NUL at the end.
    guard 1...107 ~= unixSocketPath.utf8.count, !unixSocketPath.utf8.contains(0) else {
      throw Self.refusal("unixSocketPath: '\(unixSocketPath)' is not a path of 1 to 107 bytes; use a shorter one")
    }
    if case .server = proxy.choice {
      throw Self.refusal("unixSocketPath: a Unix socket is not reached by a proxy; leave one of the two out")
    }
    guard localEndpoint == nil else {
      throw Self.refusal("unixSocketPath: a Unix socket is on no interface; leave localEndpoint out")
    }
    return unixSocketPath
  }

  private func checkedEndpoint() throws(HTTPError) -> LocalEndpoint? {
    // IFNAMSIZ of netdevice(7).
    if case .interface(let name) = localEndpoint,
      !(1...15 ~= name.utf8.count) || name.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: "/") })
    {
      throw Self.refusal("localEndpoint: '\(name)' is not the name of an interface; write one such as eth0")
    }
    if case .address(let address) = localEndpoint, address.isMulticast || address.isUnspecified {
      throw Self.refusal("localEndpoint: \(address) is not an address of this machine; write one that it has")
    }
    return localEndpoint
  }

  private static func check(_ count: Int, _ name: String) throws(HTTPError) -> Int {
    guard count >= 1 else { throw refusal("\(name): \(count) connections are too few; write at least 1") }
    // libcurl multiplies it.
    return min(count, 65_536)
  }

  private static func seconds(
    _ time: Duration, _ name: String, _ least: Int, _ most: Int
  ) throws(HTTPError) -> Int {
    guard time >= .seconds(least) || least == 1 && time > .zero else {
      throw refusal("\(name): \(time) is out of range; write a longer time\(least == 1 ? ", or nil" : "")")
    }
    // A hundred years count as no limit, and fit code that counts in 32 bits.
    let (seconds, rest) = min(time, .seconds(1_000_000_000)).components
    return min(Int(seconds) + (rest > 0 ? 1 : 0), most)
  }

  private static func refusal(_ message: String) -> HTTPError {
    HTTPError(.badConfiguration, "start session", message: message)
  }
}
