import FoundationEssentials
import HTTPTypes
import Netwatch

/// Sends a bearer token with every request, and gets a new one when the server refuses it.
///
/// ```swift
/// configuration.interceptors = [
///   BearerTokenInterceptor(token) { old in
///     try await login.post("token", body: .form(["refresh_token": secret]), as: Answer.self).token
///   }
/// ]
/// ```
///
/// After a 401, the token is refreshed once, however many requests were refused, and all of them are sent again. Requests that
/// begin meanwhile wait for the new token. A request that is refused with a new token fails with its 401. The word before the
/// token, and which answers are refusals, can be changed. The token goes to the
/// origin of the session's base URL and to ``HTTPSessionConfiguration/credentialOrigins``. A request that has an `Authorization`
/// of its own keeps that.
///
/// Refresh by another session, or by one without this interceptor: a refresh that waits for itself never ends.
public final class BearerTokenInterceptor: RequestInterceptor {
  /// Gets a new token, in the place of one that has ended or was refused; nil if there has been none.
  public typealias Refresh = @Sendable (_ old: BearerToken?) async throws -> BearerToken

  private struct State: Sendable {
    var token: BearerToken?
    var refresh: Task<BearerToken, any Error>?
    /// When the last refreshes began, the oldest first.
    var begun: [ContinuousClock.Instant] = []
  }

  private let state: Lock<State>
  private let refresh: Refresh
  private let prefix: String
  private let isRefusal: @Sendable (HTTPFailedAttempt) -> Bool
  private let now: @Sendable () -> Date

  /// The most refreshes within ``window``. Beyond it, requests fail: a server that refuses each new token would be asked for
  /// ever.
  public let maximumRefreshes: Int
  /// The time in which ``maximumRefreshes`` count.
  public let window: Duration
  /// A token that ends within this time is refreshed before it is sent.
  public static let margin: TimeInterval = 10

  /// - Parameters:
  ///   - token: The first token. Default: nil, which means that the first request waits for one.
  ///   - scheme: The word before the token in `Authorization` (RFC 9110, section 11.1). Default: `Bearer`.
  ///   - maximumRefreshes: The most refreshes within `window`; beyond it, requests fail with `notAuthenticated`. Default: 5, as
  ///     in Alamofire.
  ///   - window: The time in which `maximumRefreshes` count. Default: 30 seconds, as in Alamofire.
  ///   - isRefusal: Whether an answer says that the token is not taken. Default: its status is 401.
  ///   - refresh: Gets a new token. What it throws fails the requests that wait for it.
  public convenience init(
    _ token: BearerToken? = nil, scheme: String = "Bearer", maximumRefreshes: Int = 5,
    window: Duration = .seconds(30),
    isRefusal: @escaping @Sendable (HTTPFailedAttempt) -> Bool = { $0.response?.status == .unauthorized },
    refresh: @escaping Refresh
  ) {
    self.init(
      token, scheme: scheme, maximumRefreshes: maximumRefreshes, window: window, isRefusal: isRefusal,
      now: { Date() }, refresh: refresh)
  }

  init(
    _ token: BearerToken?, scheme: String = "Bearer", maximumRefreshes: Int = 5, window: Duration = .seconds(30),
    isRefusal: @escaping @Sendable (HTTPFailedAttempt) -> Bool = { $0.response?.status == .unauthorized },
    now: @escaping @Sendable () -> Date, refresh: @escaping Refresh
  ) {
    state = Lock(State(token: token))
    prefix = "\(scheme) "
    self.maximumRefreshes = maximumRefreshes
    self.window = window
    self.isRefusal = isRefusal
    self.now = now
    self.refresh = refresh
  }

  /// The token that is sent. Setting it, for example after a login, takes effect with the next attempt.
  public var token: BearerToken? {
    get { state.withLock { $0.token } }
    set { state.withLock { $0.token = newValue } }
  }

  public func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) async throws(HTTPError) -> HTTPRequest {
    guard !request.headerFields.contains(.authorization) else { return request }
    var request = request
    let token = try await fresh(otherThan: nil)
    request.headerFields[.authorization] = prefix + token.value
    return request
  }

  public func retry(_ failure: HTTPFailedAttempt) async -> RetryDecision {
    guard failure.retries == 0, isRefusal(failure),
      let sent = failure.request.headerFields[.authorization], sent.hasPrefix(prefix)
    else { return .next }
    do throws(HTTPError) {
      _ = try await fresh(otherThan: String(sent.dropFirst(prefix.count)))
      return .retry()
    } catch {
      return .fail(error)
    }
  }

  /// The token that there is, or that somebody gets already, or a new one.
  ///
  /// - Parameter refused: What the server does not take; nil for none.
  private func fresh(otherThan refused: String?) async throws(HTTPError) -> BearerToken {
    let found = state.withLock { state -> Found in
      if let refresh = state.refresh { return .coming(refresh) }
      if let token = state.token, token.value != refused, !isEnding(token) { return .there(token) }
      let time = ContinuousClock.now
      state.begun.removeAll { time - $0 > window }
      guard state.begun.count < maximumRefreshes else { return .tooOften }
      state.begun.append(time)
      let refresh = begin(state.token)
      state.refresh = refresh
      return .coming(refresh)
    }
    switch found {
    case .there(let token): return token
    case .tooOften:
      throw HTTPError(
        .notAuthenticated, "refresh the token",
        message: "\(maximumRefreshes) new tokens within \(window) were refused or have ended")
    case .coming(let refresh):
      do {
        return try await refresh.value
      } catch let error as HTTPError {
        throw error
      } catch {
        throw HTTPError(.notAuthenticated, "refresh the token", message: "\(error)", underlying: error)
      }
    }
  }

  private enum Found {
    case there(BearerToken)
    case coming(Task<BearerToken, any Error>)
    case tooOften
  }

  /// Goes on when nobody waits for it any more: the next request wants the token.
  private func begin(_ old: BearerToken?) -> Task<BearerToken, any Error> {
    Task {
      do {
        let token = try await refresh(old)
        state.withLock { ($0.token, $0.refresh) = (token, nil) }
        return token
      } catch {
        state.withLock { $0.refresh = nil }
        throw error
      }
    }
  }

  private func isEnding(_ token: BearerToken) -> Bool {
    token.expiration.map { $0.timeIntervalSince(now()) < Self.margin } ?? false
  }
}
