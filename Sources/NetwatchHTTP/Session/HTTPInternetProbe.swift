import Netwatch
import NetwatchEventLoop
import Synchronization

/// A GET request that shows whether the internet answers, or a captive portal in its place; for `MonitorConfiguration.probe`.
///
/// ```swift
/// var configuration = MonitorConfiguration()
/// configuration.probe = try HTTPInternetProbe("http://connectivity.example/generate_204")
/// let monitor = try NetworkMonitor.start(configuration)
/// ```
///
/// The request follows no redirect, keeps no cookie and uses no proxy. The internet answers if the status is 204, or 200 with no body or
/// the expected one. A redirect, another body, status 511 or the certificate of another server shows a captive portal. Each request has
/// a thread of its own, which runs no longer than the request.
public struct HTTPInternetProbe: InternetProbe {
  private let url: String
  private let expectation: String?
  private let timeout: Duration
  private let userAgent: String
  /// The name of the server; nil if the URL has an address.
  public let host: String?

  /// Creates a probe.
  ///
  /// - Parameters:
  ///   - url: The URL that is requested, with http or https. Use one of a server of your own, or of somebody who allows it: each machine
  ///     asks it at each new path and every `MonitorConfiguration.probeInterval`.
  ///   - expectation: The text with which the body has to begin. Default: nil, the body has to be empty.
  ///   - timeout: The time to wait for the response; at most 12 seconds count. Default: 10 seconds.
  ///   - userAgent: The value of the request's User-Agent field. Default: netwatch.
  /// - Throws: An ``HTTPError`` of the kind ``HTTPError/Kind/badURL``.
  public init(
    _ url: String, expecting expectation: String? = nil, timeout: Duration = .seconds(10),
    userAgent: String = "netwatch"
  ) throws(HTTPError) {
    guard let scheme = url.firstRange(of: "://"), ["http", "https"].contains(url[..<scheme.lowerBound].lowercased()),
      let authority = Authority(String(url[scheme.upperBound...].prefix { !"/?#".contains($0) }))
    else {
      throw HTTPError(.badURL, "probe", message: url)
    }
    self.url = url
    self.expectation = expectation
    self.timeout = timeout
    self.userAgent = userAgent
    let isAddress = authority.host.hasPrefix("[") || InternetAddress(authority.host) != nil
    host = isAddress ? nil : authority.host
  }

  /// Sends the request and waits for the response.
  ///
  /// - Parameter interface: The name of the interface from which the request leaves.
  /// - Returns: What the response proves, and the address of the login page of a captive portal. If the task is cancelled: unknown.
  public func ask(over interface: String) async -> (access: InternetAccess, portal: PortalURL?) {
    let isCancelled = Flag()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = Promise<(InternetAccess, PortalURL?)>(otherwise: (.unknown, nil)) {
          continuation.resume(returning: $0)
        }
        // Without a thread, the promise is released, and the result is not known.
        try? BackgroundThread.start(name: "netwatch-probe") {
          if let result = try? perform(over: interface, { isCancelled.isSet }) { answer.fulfill(result) }
        }
      }
    } onCancel: {
      isCancelled.set()
    }
  }

  private func perform(
    over interface: String, _ isCancelled: @escaping () -> Bool
  ) throws -> (InternetAccess, PortalURL?) {
    let request = try ProbeRequest(url, expecting: expectation)
    request.isCancelled = isCancelled
    request.set(timeout: timeout / .seconds(1), userAgent: userAgent, interface: interface)
    let finding = try request.perform()
    return (finding.access, request.portal)
  }

  private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
  }
}
