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
/// begin meanwhile wait for the new token. A request that is refused with a new token fails with its 401. The token goes to the
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
  private let now: @Sendable () -> Date

  /// The most refreshes within ``window``. Beyond it, requests fail: a server that refuses each new token would be asked for
  /// ever. The number is Alamofire's.
  public static let maximumRefreshes = 5
  /// The time in which ``maximumRefreshes`` count.
  public static let window = Duration.seconds(30)
  /// A token that ends within this time is refreshed before it is sent.
  public static let margin: TimeInterval = 10

  /// - Parameters:
  ///   - token: The first token. Default: nil, which means that the first request waits for one.
  ///   - refresh: Gets a new token. What it throws fails the requests that wait for it.
  public convenience init(_ token: BearerToken? = nil, refresh: @escaping Refresh) {
    self.init(token, now: { Date() }, refresh: refresh)
  }

  init(_ token: BearerToken?, now: @escaping @Sendable () -> Date, refresh: @escaping Refresh) {
    state = Lock(State(token: token))
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
    request.headerFields[.authorization] = "Bearer \(token.value)"
    return request
  }

  public func retry(_ failure: HTTPFailedAttempt) async -> RetryDecision {
    guard failure.response?.status == .unauthorized, failure.retries == 0,
      let sent = failure.request.headerFields[.authorization], sent.hasPrefix("Bearer ")
    else { return .next }
    do throws(HTTPError) {
      _ = try await fresh(otherThan: String(sent.dropFirst("Bearer ".count)))
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
      state.begun.removeAll { time - $0 > Self.window }
      guard state.begun.count < Self.maximumRefreshes else { return .tooOften }
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
        message: "\(Self.maximumRefreshes) new tokens within \(Self.window) were refused or have ended")
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
