import NetwatchEventLoop

/// The cookies of a session, which no other session sees. They live as long as it does.
extension HTTPSessionManager {
  /// Those that have not expired; none where the session has ended, or does not handle cookies.
  public func cookies() async -> [SessionCookie] {
    await withCheckedContinuation { continuation in
      let answer = OneShot(otherwise: []) { continuation.resume(returning: $0) }
      engines.withCookies { answer.fulfill($0.all) }
    }
  }

  /// Stores cookies, such as those of an earlier session. One of the same name, domain and path makes way.
  public func store(_ cookies: [SessionCookie]) { engines.withCookies { $0.store(cookies) } }

  /// Forgets cookies: all of them, or those of a kind.
  ///
  /// - Parameter condition: Called on the session's thread; on the thread that makes this call if the session has several.
  public func removeCookies(where condition: @escaping @Sendable (SessionCookie) -> Bool = { _ in true }) {
    engines.withCookies { $0.remove(where: condition) }
  }
}
