import FoundationEssentials
import Glibc
import HTTPTypes
import NetwatchEventLoop

/// Tries failed requests again, after a time that grows with each attempt.
///
/// ```swift
/// configuration.interceptors = [RetryInterceptor()]
/// ```
///
/// The defaults are Alamofire's: two further attempts, after 0.5 and 1 second, for idempotent methods, for statuses that speak of
/// a server in trouble, and for failures of the network. The time that a server names in `Retry-After` (RFC 9110, section
/// 10.2.3) wins. To wait for a path to the network instead, see ``HTTPTaskOptions/retriesWhenReachable``.
public struct RetryInterceptor: RequestInterceptor {
  /// The most attempts after the first one. Default: 2.
  public var limit = 2
  /// The methods of requests that are tried again. Default: those that are idempotent (RFC 9110, section 9.2.2).
  public var methods: Set<HTTPRequest.Method> = [.get, .head, .put, .delete, .options, .trace]
  /// The statuses after which a request is tried again. Default: 408, 429, 500, 502, 503 and 504.
  public var statusCodes: Set<Int> = [408, 429, 500, 502, 503, 504]
  /// The failures after which a request is tried again. Default: `timedOut`, `notResolved`, `cannotConnect`, `connectionLost`,
  /// `pathLost` and `notReachable`.
  public var kinds: Set<HTTPError.Kind> = [
    .timedOut, .notResolved, .cannotConnect, .connectionLost, .pathLost, .notReachable,
  ]
  /// The time before the first retry. Each further one waits ``backoffBase`` times as long as the one before. Default: 0.5
  /// seconds.
  public var delay = Duration.milliseconds(500)
  /// By how much the delay grows with each retry, at least 1. With 1, all delays are the same. Default: 2, each one is twice as
  /// long as the one before.
  public var backoffBase = 2.0
  /// The longest time that is waited, also if the server names one: after a longer one, the request is not tried again. Default:
  /// 60 seconds.
  public var maximumDelay = Duration.seconds(60)
  /// The part of the delay that is left to chance, from 0 to 1, so that the clients of a server do not come back at the same
  /// moment. Default: 0.5, which means between half of the delay and all of it. A time that the server names is waited in full.
  public var jitter = 0.5

  public init() {}

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

  /// - Parameter chance: from 0 to 1.
  func backoff(_ retries: Int, chance: Double) -> Duration {
    // The base may be no number, and its power infinite: times zero, that would be no number.
    let factor = min(pow(backoffBase >= 1 ? backoffBase : 1, Double(max(retries, 0))), 1e18)
    let seconds = min(max(delay, .zero).inSeconds * factor, max(maximumDelay, .zero).inSeconds)
    return .seconds(seconds * (1 - min(max(jitter, 0), 1) * chance))
  }

  /// A number of seconds, or a date. Nil if the server says nothing that could be read.
  static func retryAfter(_ response: HTTPResponse, now: Date) -> Duration? {
    guard let name = HTTPField.Name("Retry-After"), let text = response.headerFields[name] else { return nil }
    if !text.isEmpty, text.utf8.allSatisfy({ 48...57 ~= $0 }) { return .seconds(Int64(text) ?? .max / 4) }
    guard let time = CivilTime(httpDate: text) else { return nil }
    return .seconds(Double(time.secondsSince1970) - now.timeIntervalSince1970)
  }
}

extension Duration {
  fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
