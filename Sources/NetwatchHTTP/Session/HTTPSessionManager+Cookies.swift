/// The cookies of a session. They live as long as the session, and no other session sees them.
///
/// They follow RFC 6265 and, where browsers are stricter, its successor (draft-ietf-httpbis-rfc6265bis). No cookie is for a whole
/// public suffix, such as `co.uk`, whoever sets or stores it. A cookie that is not UTF-8 is ignored.
extension HTTPSessionManager {
  /// Returns the cookies that have not expired. The array is empty if the session has ended or does not handle cookies.
  public func cookies() async -> [SessionCookie] { engines.cookies?.all ?? [] }

  /// Stores cookies, such as those of an earlier session. Each one replaces a cookie with the same name, domain and path.
  public func store(_ cookies: [SessionCookie]) { engines.cookies?.store(cookies) }

  /// Removes all cookies, or those that meet a condition.
  ///
  /// - Parameter condition: Returns whether to remove a cookie. It is called before this call returns. Default: always true.
  public func removeCookies(where condition: (SessionCookie) -> Bool = { _ in true }) {
    engines.cookies?.remove(where: condition)
  }
}
