import FoundationEssentials
import HTTPTypes
import NetwatchEventLoop
import NetwatchLibC

/// An interceptor that retries failed requests, after a delay that grows with each retry.
///
/// ```swift
/// configuration.interceptors = [RetryInterceptor()]
/// ```
///
/// By default, there are two retries, after 0.5 and 1 second, from which ``jitter`` takes off up to a half. These are Alamofire's
/// defaults, except for the jitter and the status 429. A request with an idempotent method is retried if the status tells of a
/// server in trouble, or if the network has failed. If the server sends a time in `Retry-After` (RFC 9110, section 10.2.3), that
/// time is waited instead. To wait for a path to the network, see ``HTTPTaskOptions/retriesWhenReachable``.
public struct RetryInterceptor: RequestInterceptor {
  /// The most retries after the first attempt. Default: 2.
  public var limit = 2
  /// The methods of the requests that are retried. Default: the idempotent ones (RFC 9110, section 9.2.2).
  public var methods: Set<HTTPRequest.Method> = [.get, .head, .put, .delete, .options, .trace]
  /// The statuses after which a request is retried. Default: 408, 429, 500, 502, 503 and 504.
  public var statusCodes: Set<Int> = [408, 429, 500, 502, 503, 504]
  /// The failures after which a request is retried. Default: `timedOut`, `notResolved`, `cannotConnect`, `connectionLost`,
  /// `pathLost` and `notReachable`.
  public var kinds: Set<HTTPError.Kind> = [
    .timedOut, .notResolved, .cannotConnect, .connectionLost, .pathLost, .notReachable,
  ]
  /// The delay before the first retry. Each further delay is ``backoffBase`` times as long as the one before. Default: 0.5
  /// seconds.
  public var delay = Duration.milliseconds(500)
  /// The factor by which the delay grows with each retry, at least 1. With 1, all delays are equal. Default: 2.
  public var backoffBase = 2.0
  /// The longest delay. If the server asks for a longer one, the request is not retried. Default: 60 seconds.
  public var maximumDelay = Duration.seconds(60)
  /// The random part of the delay, from 0 to 1, so that the clients of a server do not retry at the same moment. Default: 0.5,
  /// a delay between half of the full one and all of it. A delay that the server asks for is waited in full.
  public var jitter = 0.5

  /// Creates an interceptor with the default settings.
  public init() {}

  /// Decides whether a failed request is retried, and after which delay. Leaves all other failures to the next interceptor.
  public func retry(_ failure: HTTPFailedAttempt) async -> RetryDecision {
    guard failure.retries < limit, methods.contains(failure.request.method), isTemporary(failure) else { return .next }
    if let wanted = failure.response.flatMap({ Self.retryAfter($0, now: Date()) }) {
      return wanted <= maximumDelay ? .retry(after: max(wanted, .zero)) : .next
    }
    return .retry(after: backoff(failure.retries, chance: .random(in: 0...1)))
  }

  private func isTemporary(_ failure: HTTPFailedAttempt) -> Bool {
    if let error = failure.error { return kinds.contains(error.kind) }
    return failure.response.map { statusCodes.contains($0.status.code) } ?? false
  }

  /// - Parameter chance: A random number from 0 to 1.
  func backoff(_ retries: Int, chance: Double) -> Duration {
    // The base may be NaN, and its power infinite, which a delay of zero would turn into NaN.
    let factor = min(pow(backoffBase >= 1 ? backoffBase : 1, Double(max(retries, 0))), 1e18)
    let seconds = min(max(delay, .zero).inSeconds * factor, max(maximumDelay, .zero).inSeconds)
    return .seconds(seconds * (1 - min(max(jitter, 0), 1) * chance))
  }

  /// Returns the delay that the server asks for, which it sends as a number of seconds or as a date. Nil if there is none that
  /// can be read.
  static func retryAfter(_ response: HTTPResponse, now: Date) -> Duration? {
    guard let name = HTTPField.Name("Retry-After"), let text = response.headerFields.singleValue(name) else {
      return nil
    }
    if !text.isEmpty, text.utf8.allSatisfy({ 48...57 ~= $0 }) { return .seconds(Int64(text) ?? .max / 4) }
    guard let time = CivilTime(httpDate: text) else { return nil }
    return .seconds(Double(time.secondsSince1970) - now.timeIntervalSince1970)
  }
}

extension Duration {
  fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
