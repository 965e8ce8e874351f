import NetwatchEventLoop

/// The cookies of a session, which no other session sees. They live as long as it does.
extension HTTPSessionManager {
  /// Those that have not expired; none where the session has ended, or does not handle cookies.
  public func cookies() async -> [SessionCookie] {
    await withCheckedContinuation { continuation in
      let answer = OneShot(otherwise: []) { continuation.resume(returning: $0) }
      inbox.send(.run { answer.fulfill($0.cookies.all) })
    }
  }

  /// Stores cookies, such as those of an earlier session. One of the same name, domain and path makes way.
  public func store(_ cookies: [SessionCookie]) {
    inbox.send(
      .run { engine in
        for cookie in cookies { engine.cookies.store(cookie) }
      })
  }

  /// Forgets cookies: all of them, or those of a kind.
  ///
  /// - Parameter condition: called on the session's thread.
  public func removeCookies(where condition: @escaping @Sendable (SessionCookie) -> Bool = { _ in true }) {
    inbox.send(
      .run { engine in
        let kept = engine.cookies.all.filter { !condition($0) }
        engine.cookies.removeAll()
        for cookie in kept { engine.cookies.store(cookie) }
      })
  }
}
