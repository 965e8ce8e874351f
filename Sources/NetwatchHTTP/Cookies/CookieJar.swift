import CLibCurl
import FoundationEssentials
import HTTPTypes
import Netwatch

/// The cookies of a session, by the rules of RFC 6265 and of browsers (draft-ietf-httpbis-rfc6265bis). Pure: the time is an argument.
struct CookieJar {
  /// What decides which cookies a request gets, and which its response may set.
  struct Place {
    /// The host in lower case and ASCII.
    let host: String
    let isAddress: Bool
    /// Whether cookies for https only are safe: https, or this machine.
    let isSecure: Bool
    /// The path without the query.
    let path: String

    /// Nil for a request that has no valid host.
    init?(of request: HTTPRequest) {
      guard let authority = request.authority.flatMap(Authority.init), let host = HostName.canonical(authority.host)
      else { return nil }
      self.host = host
      isAddress = IPAddress(host) != nil
      isSecure = request.scheme?.lowercased() == "https" || ["localhost", "127.0.0.1", "::1"].contains(host)
      let path = request.path ?? "/"
      self.path = String(path.prefix { $0 != "?" && $0 != "#" })
    }

    /// The path of a cookie without one: that of the request up to its last slash (RFC 6265, section 5.1.4).
    fileprivate var defaultPath: String {
      guard path.hasPrefix("/"), let end = path.lastIndex(of: "/"), end != path.startIndex else { return "/" }
      return String(path[..<end])
    }
  }

  /// The most cookies of a domain, and of all domains. RFC 6265, section 6.1, asks for at least 50 and 3,000.
  private static let (mostOfDomain, most) = (150, 3_000)
  /// The most bytes that a request gets. Many servers refuse a field of more than 8 KiB.
  private static let mostBytesSent = 8_190

  /// The cookies of each domain, the oldest first.
  private var domains: [String: [SessionCookie]] = [:]
  private var count = 0

  var isEmpty: Bool { count == 0 }

  // MARK: From servers

  /// Takes a cookie from a response, or removes the one that it replaces.
  ///
  /// - Parameters:
  ///   - text: The value of a `Set-Cookie` field.
  ///   - place: That of the request.
  mutating func take(_ text: String, from place: Place, at now: Date) {
    guard let cookie = Self.cookie(text, from: place, at: now) else { return }
    // A response that anybody on the way can write must not replace what only https has set.
    if !place.isSecure, cookie.isSecure || hidesSecure(cookie, at: now) { return }
    store(cookie, at: now)
  }

  private static func cookie(_ text: String, from place: Place, at now: Date) -> SessionCookie? {
    let parts = text.split(separator: ";", omittingEmptySubsequences: false).map(Self.pair)
    guard let first = parts.first, let value = first.value else { return nil }
    let attributes = parts.dropFirst()
    func last(_ name: String) -> String? { attributes.last { $0.name.lowercased() == name }.map { $0.value ?? "" } }
    let path = last("path").flatMap { $0.hasPrefix("/") ? $0 : nil }
    var (domain, includesSubdomains) = (place.host, false)
    if var wanted = last("domain"), !wanted.isEmpty {
      if wanted.hasPrefix(".") { wanted.removeFirst() }
      guard let name = HostName.canonical(wanted), matches(place, name, includesSubdomains: true) else { return nil }
      // A public suffix is also the name of one host (section 5.3).
      guard name == place.host || !PublicSuffixes.contains(name) else { return nil }
      (domain, includesSubdomains) = (name, !place.isAddress)
    }
    let isSecure = last("secure") != nil
    guard
      hasPrefix(first.name, "__secure-") ? isSecure : true,
      hasPrefix(first.name, "__host-") ? isSecure && !includesSubdomains && path == "/" : true
    else { return nil }
    return SessionCookie(
      name: first.name, value: value, domain: domain, includesSubdomains: includesSubdomains,
      path: path ?? place.defaultPath, isSecure: isSecure, isHTTPOnly: last("httponly") != nil,
      expires: end(maxAge: attributes, at: now) ?? last("expires").flatMap(CurlLibrary.date))
  }

  private static func hasPrefix(_ name: String, _ prefix: String) -> Bool { name.lowercased().hasPrefix(prefix) }

  private static func pair(_ text: Substring) -> (name: String, value: String?) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    func trimmed(_ text: Substring) -> String {
      var text = text
      while let first = text.first, " \t".contains(first) { text.removeFirst() }
      while let last = text.last, " \t".contains(last) { text.removeLast() }
      return String(text)
    }
    return (trimmed(parts[0]), parts.count > 1 ? trimmed(parts[1]) : nil)
  }

  /// Returns the time that the last valid Max-Age tells (RFC 6265, section 5.2.2). Nil if there is none.
  private static func end(
    maxAge attributes: ArraySlice<(name: String, value: String?)>, at now: Date
  ) -> Date? {
    let ages = attributes.filter { $0.name.lowercased() == "max-age" }.compactMap { attribute -> Double? in
      let digits = attribute.value?.drop { $0 == "-" } ?? ""
      let signs = (attribute.value?.count ?? 0) - digits.count
      guard signs <= 1, !digits.isEmpty, digits.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
      // A thousand years is as good as any more.
      return signs == 1 ? 0 : min(Double(digits) ?? .infinity, 1_000 * 365 * 86_400)
    }
    return ages.last.map { $0 > 0 ? now + $0 : Date(timeIntervalSince1970: 1) }
  }

  /// Returns whether a cookie that only https has set would be hidden by a new one.
  private func hidesSecure(_ cookie: SessionCookie, at now: Date) -> Bool {
    domains.contains { domain, cookies in
      let isRelated =
        domain == cookie.domain || domain.hasSuffix(".\(cookie.domain)") || cookie.domain.hasSuffix(".\(domain)")
      return isRelated
        && cookies.contains {
          $0.isSecure && $0.name == cookie.name && !$0.isOver(at: now) && Self.isPath(cookie.path, under: $0.path)
        }
    }
  }

  // MARK: To servers

  /// Returns the value of the `Cookie` field of a request. Nil if there are no cookies for it.
  func header(for place: Place, at now: Date) -> String? {
    guard !isEmpty else { return nil }
    var found: [SessionCookie] = []
    var domain = Substring(place.host)
    while true {
      found += (domains[String(domain)] ?? []).filter { cookie in
        (place.isSecure || !cookie.isSecure) && !cookie.isOver(at: now) && Self.isPath(place.path, under: cookie.path)
          && Self.matches(place, cookie.domain, includesSubdomains: cookie.includesSubdomains)
      }
      guard !place.isAddress, let dot = domain.firstIndex(of: ".") else { break }
      domain = domain[domain.index(after: dot)...]
    }
    guard !found.isEmpty else { return nil }
    // Longer paths come first (RFC 6265, section 5.4). The sort is stable.
    found.sort { $0.path.utf8.count > $1.path.utf8.count }
    var text = ""
    for cookie in found {
      let next = "\(text.isEmpty ? "" : "; ")\(cookie.name)=\(cookie.value)"
      guard text.utf8.count + next.utf8.count <= Self.mostBytesSent else { break }
      text += next
    }
    return text.isEmpty ? nil : text
  }

  /// Returns whether a host belongs to the domain of a cookie (RFC 6265, section 5.1.3).
  private static func matches(_ place: Place, _ domain: String, includesSubdomains: Bool) -> Bool {
    if place.host == domain { return true }
    return includesSubdomains && !place.isAddress && place.host.hasSuffix(".\(domain)")
  }

  private static func isPath(_ path: String, under cookie: String) -> Bool {
    guard path.hasPrefix(cookie) else { return path.isEmpty && cookie == "/" }
    return path.utf8.count == cookie.utf8.count || cookie.hasSuffix("/")
      || path.utf8.dropFirst(cookie.utf8.count).first == UInt8(ascii: "/")
  }

  // MARK: All cookies

  /// Returns the cookies that have not expired.
  func all(at now: Date) -> [SessionCookie] {
    domains.sorted { $0.key < $1.key }.flatMap(\.value).filter { !$0.isOver(at: now) }
  }

  /// Stores a cookie in the place of the one with the same name, domain and path. One that has expired only removes that one. A cookie
  /// for a whole public suffix is for the host of that name alone.
  mutating func store(_ cookie: SessionCookie, at now: Date) {
    let isPublic = cookie.includesSubdomains && PublicSuffixes.contains(cookie.domain)
    let cookie = isPublic ? cookie.withoutSubdomains : cookie
    var cookies = domains[cookie.domain] ?? []
    count -= cookies.count
    let old = cookies.firstIndex {
      $0.name == cookie.name && $0.path == cookie.path && $0.includesSubdomains == cookie.includesSubdomains
    }
    if let old { cookies.remove(at: old) }
    if !cookie.isOver(at: now) { cookies.insert(cookie, at: old ?? cookies.endIndex) }
    if cookies.count > Self.mostOfDomain { cookies.removeAll { $0.isOver(at: now) } }
    if cookies.count > Self.mostOfDomain { cookies.removeFirst() }
    count += cookies.count
    domains[cookie.domain] = cookies.isEmpty ? nil : cookies
    if count > Self.most { shrink(at: now) }
  }

  /// Removes what has expired, and then the domain with the most cookies gives one up.
  private mutating func shrink(at now: Date) {
    remove { $0.isOver(at: now) }
    guard count > Self.most, let (domain, cookies) = domains.max(by: { $0.value.count < $1.value.count }) else {
      return
    }
    domains[domain] = cookies.count > 1 ? Array(cookies.dropFirst()) : nil
    count -= 1
  }

  mutating func remove(where condition: (SessionCookie) -> Bool) {
    domains = domains.compactMapValues { cookies in
      let kept = cookies.filter { !condition($0) }
      return kept.isEmpty ? nil : kept
    }
    count = domains.values.reduce(0) { $0 + $1.count }
  }
}

extension SessionCookie {
  fileprivate var withoutSubdomains: SessionCookie {
    SessionCookie(
      name: name, value: value, domain: domain, path: path, isSecure: isSecure, isHTTPOnly: isHTTPOnly, expires: expires
    )
      ?? self
  }

  fileprivate func isOver(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }
}

/// The cookies that all threads of a session share.
final class SharedCookies: Sendable {
  private let jar = Lock(CookieJar())
  private let accepts: Bool
  private let sends: Bool

  /// - Parameters:
  ///   - accepts: Whether cookies of responses are taken.
  ///   - sends: Whether requests get cookies.
  init(accepts: Bool = true, sends: Bool = true) {
    self.accepts = accepts
    self.sends = sends
  }

  /// The cookies that have not expired.
  var all: [SessionCookie] { jar.withLock { $0.all(at: Date()) } }

  func store(_ cookies: [SessionCookie]) {
    jar.withLock { jar in for cookie in cookies { jar.store(cookie, at: Date()) } }
  }

  /// - Parameter condition: Called without the lock.
  func remove(where condition: (SessionCookie) -> Bool) {
    let removed = Set(all.filter(condition))
    jar.withLock { $0.remove { removed.contains($0) } }
  }

  func take(_ text: String, from request: HTTPRequest) {
    guard accepts, let place = CookieJar.Place(of: request) else { return }
    jar.withLock { $0.take(text, from: place, at: Date()) }
  }

  /// Returns the value of the `Cookie` field of a request. Nil if there are no cookies for it.
  func header(for request: HTTPRequest) -> String? {
    guard sends else { return nil }
    return jar.withLock { jar in
      guard !jar.isEmpty, let place = CookieJar.Place(of: request) else { return nil }
      return jar.header(for: place, at: Date())
    }
  }
}

extension CurlLibrary {
  /// Returns the time of a date in any form that servers write. Nil for another text.
  static func date(_ text: String) -> Date? {
    let seconds = unsafe curl_getdate(text, nil)
    return seconds == -1 ? nil : Date(timeIntervalSince1970: Double(max(seconds, 1)))
  }
}
