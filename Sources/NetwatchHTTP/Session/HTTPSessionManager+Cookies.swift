import NetwatchEventLoop

/// The cookies of a session. They live as long as the session, and no other session sees them.
extension HTTPSessionManager {
  /// Returns the cookies that have not expired. The array is empty if the session has ended or does not handle cookies.
  public func cookies() async -> [SessionCookie] {
    await withCheckedContinuation { continuation in
      let answer = OneShot(otherwise: []) { continuation.resume(returning: $0) }
      engines.withCookies { answer.fulfill($0.all) }
    }
  }

  /// Stores cookies, such as those of an earlier session. Each one replaces a cookie with the same name, domain and path.
  public func store(_ cookies: [SessionCookie]) { engines.withCookies { $0.store(cookies) } }

  /// Removes all cookies, or those that meet a condition.
  ///
  /// - Parameter condition: Returns whether to remove a cookie. It is called on the session's thread, or on the thread that
  ///   makes this call if the session has several threads. Default: always true.
  public func removeCookies(where condition: @escaping @Sendable (SessionCookie) -> Bool = { _ in true }) {
    engines.withCookies { $0.remove(where: condition) }
  }
}
