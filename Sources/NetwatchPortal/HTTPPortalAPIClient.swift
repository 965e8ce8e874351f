import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop
import NetwatchHTTP
import NetwatchResolver

/// Asks the portal API of a network by HTTPS (RFC 8908); for `MonitorConfiguration.portalAPI`.
///
/// ```swift
/// var configuration = MonitorConfiguration()
/// configuration.portalAPI = HTTPPortalAPIClient()
/// let monitor = try NetworkMonitor.start(configuration)
/// ```
///
/// Anybody in a network can name any address as its API. So everything goes over the link that has given the address: the questions to
/// its name servers, and the connection. No connection is made to this machine itself. The server needs a certificate that the system
/// trusts. At most three redirects are followed, all with https. No cookie, credential, proxy or client certificate is used. At most
/// 64 KiB of a response are read, and it counts only if its type is `application/captive+json`.
///
/// Linux before 5.7 does not let a program without CAP_NET_RAW bind its sockets to a link. Nothing is asked then.
public struct HTTPPortalAPIClient: PortalAPIClient {
  /// The most redirects that are followed.
  private static let mostRedirects = 3
  private static let longestBody: Int64 = 65_536
  /// The most addresses of a host that are tried.
  private static let mostAddresses = 8
  private static let longestLookup = Duration.seconds(4)

  private let timeout: Duration
  private let userAgent: String

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - timeout: The time that each request and each redirect may take; a monitor waits at most 15 seconds for all. Default: 10 seconds.
  ///   - userAgent: The value of the requests' User-Agent field. Default: netwatch.
  public init(timeout: Duration = .seconds(10), userAgent: String = "netwatch") {
    self.timeout = timeout
    self.userAgent = userAgent
  }

  /// Asks the API once, and follows its redirects.
  ///
  /// - Parameters:
  ///   - address: The address of the API. Without https, nothing is asked.
  ///   - interface: The name of the link over which everything goes.
  ///   - nameServers: The name servers that are asked for the host, besides the hosts file. Without any, only an address, or a name in
  ///     the hosts file, can be asked.
  /// - Returns: The answer; nil if none has come that can be trusted.
  public func ask(_ address: PortalURL, over interface: String, nameServers: [InternetAddress]) async -> CaptivePortal?
  {
    try? await portal(at: address, over: interface, nameServers)
  }

  /// As ``ask(_:over:nameServers:)``.
  ///
  /// - Throws: A `PlainError` or an `HTTPError` about what has gone wrong.
  package func portal(
    at address: PortalURL, over interface: String, _ servers: [InternetAddress]
  ) async throws -> CaptivePortal {
    do throws(SystemError) {
      try LinkBinding.check(interface)
    } catch {
      throw PlainError("nothing can be bound to the interface '\(interface.sanitizedForTerminal)': \(error.message)")
    }
    guard var url = URL(string: address.description) else { throw PlainError("the address is no URL") }
    for _ in 0...Self.mostRedirects {
      let reply = try await get(url, over: interface, servers)
      guard [301, 302, 303, 307, 308].contains(reply.response.status.code) else { return try Self.portal(in: reply) }
      guard let place = reply.response.headerFields[.location],
        let next = URL(string: place, relativeTo: url)?.absoluteURL
      else { throw PlainError("a redirect leads nowhere") }
      url = next
    }
    throw PlainError("there are more than \(Self.mostRedirects) redirects")
  }

  private static func portal(in reply: HTTPReply<Data>) throws(PlainError) -> CaptivePortal {
    guard reply.response.status == .ok else { throw PlainError("the status is \(reply.response.status.code)") }
    let type = reply.response.headerFields[.contentType] ?? ""
    // RFC 8908, section 5. Parameters may follow.
    guard type.prefix(while: { $0 != ";" && $0 != " " }).lowercased() == "application/captive+json" else {
      throw PlainError("the response is no application/captive+json")
    }
    guard let portal = CaptivePortal(json: reply.value) else {
      throw PlainError("the response does not say whether the network is captive")
    }
    return portal
  }

  private func get(_ url: URL, over interface: String, _ servers: [InternetAddress]) async throws -> HTTPReply<Data> {
    // A login or another scheme in a redirect is refused as in an advertisement.
    guard let address = PortalURL(url.absoluteString), address.isSecure else {
      throw PlainError("an address that is not https is not asked")
    }
    var configuration = HTTPSessionConfiguration()
    configuration.proxy = .direct
    configuration.handlesCookies = false
    configuration.localEndpoint = .interface(interface)
    configuration.userAgent = userAgent
    configuration.taskOptions.maximumRedirects = 0
    configuration.taskOptions.maximumResponseBytes = Self.longestBody
    configuration.taskOptions.totalTimeout = timeout
    configuration.taskOptions.maximumRetries = 0
    configuration.headerFields[.accept] = "application/captive+json"
    let own = InternetAddress(address.host)
    let places = if let own { [own] } else { try await addresses(of: address.host, over: interface, servers) }
    let foreign = places.filter(\.isOfAnotherMachine)
    guard !foreign.isEmpty else { throw PlainError("\(address.host) is this machine, or has no address") }
    if own == nil { configuration.addressOverrides = [address.host: Array(foreign.prefix(Self.mostAddresses))] }
    let session = try HTTPSessionManager(configuration: configuration)
    defer { session.invalidate() }
    return try await session.data(for: url)
  }

  /// Looks a name up in the hosts file and with the servers of the link, in a thread of its own.
  private func addresses(
    of host: String, over interface: String, _ servers: [InternetAddress]
  ) async throws -> [InternetAddress] {
    let name = try HostName(host)
    let ascii = try name.inASCII()
    var configuration = ResolverConfiguration()
    configuration.servers = servers.map { ResolverConfiguration.Server($0) }
    configuration.interface = InterfaceName(interface)
    configuration.timeout = Self.longestLookup
    let isAlone = servers.isEmpty
    return try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<[InternetAddress], any Error>) in
      let result = Promise<Result<[InternetAddress], any Error>>(otherwise: .failure(CancellationError())) {
        continuation.resume(with: $0)
      }
      do {
        try BackgroundThread.start(name: "netwatch-portal") { [configuration] in
          do {
            let loop = try EventLoop()
            var outcome: Resolution.Outcome?
            let lookup = ServerLookup(of: name, ascii, on: loop, configuration, inHostsFile: isAlone) {
              outcome = $0
              loop.stop()
            }
            try withExtendedLifetime(lookup) { try loop.run() }
            result.fulfill(Result { try outcome?.get().addresses ?? [] })
          } catch {
            result.fulfill(.failure(error))
          }
        }
      } catch {
        result.fulfill(.failure(error))
      }
    }
  }
}
