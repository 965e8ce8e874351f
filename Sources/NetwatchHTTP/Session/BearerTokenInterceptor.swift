import FoundationEssentials
import HTTPTypes
import Netwatch

/// An interceptor that sends a bearer token with every request, and gets a new token when the server refuses the old one.
///
/// ```swift
/// configuration.interceptors = [
///   BearerTokenInterceptor(token) { _ in
///     BearerToken(try await login.post("token", body: .form(["refresh_token": refreshToken]), as: Login.self).token)
///   }
/// ]
/// ```
///
/// After a response with status 401, the token is refreshed once, however many requests were refused. Then all of them are sent
/// again. Requests that begin during the refresh wait for the new token. A request that is refused with a new token ends with
/// its 401.
///
/// The parameters of the initialiser can change the word before the token, and which responses count as refusals. The token is sent
/// to the origin of the session's base URL and to ``HTTPSessionConfiguration/credentialOrigins``. A session without a base URL
/// sends it to the origin of each task's URL. A request that already has an `Authorization` field keeps it.
///
/// The refresh must use a session without this interceptor. Otherwise it waits for itself, and never ends.
public final class BearerTokenInterceptor: RequestInterceptor {
  /// A closure that returns a new token when the old one has expired or was refused. `old` is nil if there has been no token.
  public typealias Refresh = @Sendable (_ old: BearerToken?) async throws -> BearerToken

  private struct State: Sendable {
    var token: BearerToken?
    var refresh: Task<BearerToken, any Error>?
    /// The times at which the last refreshes began, oldest first.
    var begun: [ContinuousClock.Instant] = []
  }

  private let state: Lock<State>
  private let refresh: Refresh
  private let prefix: String
  private let isRefusal: @Sendable (HTTPFailedAttempt) -> Bool
  private let now: @Sendable () -> Date

  /// The most refreshes within ``window``. Beyond it, requests fail with `notAuthenticated`. Without this limit, a server that
  /// refuses every new token would be asked for ever. Default: 5.
  public let maximumRefreshes: Int
  /// The length of time in which refreshes are counted for ``maximumRefreshes``. Default: 30 seconds.
  public let window: Duration
  /// The time before the expiration of a token in which the token is refreshed instead of sent: 10 seconds.
  public static let margin: TimeInterval = 10

  /// Creates an interceptor.
  ///
  /// - Parameters:
  ///   - token: The first token. Default: nil, the first request waits for a refresh.
  ///   - scheme: The word before the token in `Authorization` (RFC 9110, section 11.1). Default: `Bearer`.
  ///   - maximumRefreshes: The most refreshes within `window`. Beyond it, requests fail with `notAuthenticated`. Default: 5, as
  ///     in Alamofire.
  ///   - window: The length of time in which refreshes are counted. Default: 30 seconds, as in Alamofire.
  ///   - isRefusal: Returns whether the response of an attempt shows that the server refuses the token. Default: the status is
  ///     401.
  ///   - refresh: Returns a new token. If it throws, the requests that wait for the token fail: with the ``HTTPError`` that it
  ///     throws, or with `notAuthenticated`.
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

  /// The current token. A new value, for example after a login, is used from the next attempt on.
  public var token: BearerToken? {
    get { state.withLock { $0.token } }
    set { state.withLock { $0.token = newValue } }
  }

  /// Adds the current token to a request. Waits for a refresh first, if there is no token or if it expires within ``margin``.
  ///
  /// - Parameters:
  ///   - request: The request. If it already has an `Authorization` field, it is returned unchanged.
  ///   - task: The task that the request is for.
  /// - Throws: `notAuthenticated` after too many refreshes, or the error of the refresh.
  public func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) async throws(HTTPError) -> HTTPRequest {
    guard !request.headerFields.contains(.authorization) else { return request }
    var request = request
    let token = try await fresh(otherThan: nil)
    request.headerFields[.authorization] = prefix + token.value
    return request
  }

  /// Returns the value of the field with a token as it is sent: without white space at its end.
  private func sent(_ token: String) -> String { HTTPField(name: .authorization, value: prefix + token).value }

  /// Refreshes the token after a refusal, and asks the session to send the request again. Leaves all other failures, and a second
  /// refusal, to the next interceptor. If the refresh fails, the task fails with its error.
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

  /// Returns the current token, the token of a running refresh, or the token of a refresh that begins now.
  ///
  /// - Parameter refused: The token that the server refuses; nil for none.
  private func fresh(otherThan refused: String?) async throws(HTTPError) -> BearerToken {
    let found = state.withLock { state -> Found in
      if let refresh = state.refresh { return .coming(refresh) }
      if let token = state.token, refused.map({ sent(token.value) != sent($0) }) ?? true, !isEnding(token) {
        return .there(token)
      }
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

  /// Begins a refresh. It continues even if no request waits for it any more, because the next request needs the token.
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

/// A bearer token, which identifies a user to a server (RFC 6750), and the date on which it expires.
public struct BearerToken: Hashable, Sendable {
  /// The text of the token, without the word `Bearer`.
  public let value: String
  /// The date on which the token expires. Nil if it is not known; a response with status 401 then shows that the token has
  /// expired.
  public let expiration: Date?

  /// Creates a token.
  ///
  /// - Parameters:
  ///   - value: The text of the token, without the word `Bearer`.
  ///   - expiration: The date on which the token expires. Default: nil, not known.
  public init(_ value: String, expiration: Date? = nil) {
    self.value = value
    self.expiration = expiration
  }
}

extension BearerToken: CustomStringConvertible {
  /// When the token expires, if that is known. The token itself is left out, so that no log gets it.
  public var description: String { "bearer token" + (expiration.map { ", expires \($0)" } ?? "") }
}
