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
      isAddress = InternetAddress(host) != nil
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

  private struct Kept {
    let cookie: SessionCookie
    /// The place in the order of creation.
    let number: UInt64
  }

  /// The most cookies of a domain, and of all domains. RFC 6265, section 6.1, asks for at least 50 and 3,000.
  private static let (mostOfDomain, most) = (150, 3_000)
  /// The number of cookies to which a full jar is emptied, so that not each further cookie sorts all.
  private static let rest = 2_700
  /// The most bytes that a request gets. Many servers refuse a field of more than 8 KiB.
  private static let mostBytesSent = 8_190
  /// A longer attribute is ignored (RFC 6265bis, section 5.6).
  private static let longestAttribute = 1_024

  /// The cookies of each domain, the oldest first.
  private var domains: [String: [Kept]] = [:]
  private var count = 0
  private var created: UInt64 = 0

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
    // In bytes, as servers read them: a letter of Swift may begin with one of the separators.
    let parts = text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map(Self.pair)
    guard let first = parts.first, let value = first.value else { return nil }
    let attributes = parts.dropFirst().filter { ($0.value ?? "").utf8.count <= longestAttribute }[...]
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
      expires: end(maxAge: attributes, at: now) ?? last("expires").flatMap(Self.date))
  }

  private static func hasPrefix(_ name: String, _ prefix: String) -> Bool { name.lowercased().hasPrefix(prefix) }

  private static func pair(_ text: Substring.UTF8View) -> (name: String, value: String?) {
    func trimmed(_ text: Substring.UTF8View) -> String {
      func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
      var text = text.drop(while: isBlank)
      while let last = text.last, isBlank(last) { text.removeLast() }
      return String(decoding: text, as: UTF8.self)
    }
    guard let mark = text.firstIndex(of: UInt8(ascii: "=")) else { return (trimmed(text), nil) }
    return (trimmed(text[..<mark]), trimmed(text[text.index(after: mark)...]))
  }

  private static func isSame(_ text: String, _ other: String) -> Bool { text.utf8.elementsEqual(other.utf8) }

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

  /// Returns the time of a date in any form that servers write. Nil for another text.
  private static func date(_ text: String) -> Date? {
    let seconds = unsafe curl_getdate(text, nil)
    return seconds == -1 ? nil : Date(timeIntervalSince1970: Double(max(seconds, 1)))
  }

  /// Returns whether a cookie that only https has set would be hidden by a new one.
  private func hidesSecure(_ cookie: SessionCookie, at now: Date) -> Bool {
    domains.contains { domain, cookies in
      cookies.contains {
        let old = $0.cookie
        return old.isSecure && Self.isSame(old.name, cookie.name) && !old.isOver(at: now)
          && Self.isPath(cookie.path, under: old.path)
          && (domain == cookie.domain || domain.hasSuffix(".\(cookie.domain)") || cookie.domain.hasSuffix(".\(domain)"))
      }
    }
  }

  // MARK: To servers

  /// Returns the value of the `Cookie` field of a request. Nil if there are no cookies for it.
  func header(for place: Place, at now: Date) -> String? {
    guard !isEmpty else { return nil }
    var found: [Kept] = []
    var domain = Substring(place.host)
    while true {
      found += (domains[String(domain)] ?? []).filter { kept in
        let cookie = kept.cookie
        return (place.isSecure || !cookie.isSecure) && !cookie.isOver(at: now)
          && Self.isPath(place.path, under: cookie.path)
          && Self.matches(place, cookie.domain, includesSubdomains: cookie.includesSubdomains)
      }
      guard !place.isAddress, let dot = domain.firstIndex(of: ".") else { break }
      domain = domain[domain.index(after: dot)...]
    }
    // Longer paths come first, then older cookies (RFC 6265, section 5.4).
    found.sort { ($1.cookie.path.utf8.count, $0.number) < ($0.cookie.path.utf8.count, $1.number) }
    var text = ""
    for cookie in found.lazy.map(\.cookie) {
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
    let (path, cookie) = (path.isEmpty ? "/".utf8 : path.utf8, cookie.utf8)
    guard path.starts(with: cookie) else { return false }
    let slash = UInt8(ascii: "/")
    return path.count == cookie.count || cookie.last == slash || path.dropFirst(cookie.count).first == slash
  }

  // MARK: All cookies

  /// Returns the cookies that have not expired.
  func all(at now: Date) -> [SessionCookie] {
    domains.sorted { $0.key < $1.key }.flatMap(\.value).map(\.cookie).filter { !$0.isOver(at: now) }
  }

  /// Stores a cookie in the place of the one with the same name, domain and path. One that has expired only removes that one. A cookie
  /// for a whole public suffix is for the host of that name alone.
  mutating func store(_ cookie: SessionCookie, at now: Date) {
    let isPublic = cookie.includesSubdomains && PublicSuffixes.contains(cookie.domain)
    let cookie = isPublic ? cookie.withoutSubdomains : cookie
    var cookies = domains[cookie.domain] ?? []
    count -= cookies.count
    let old = cookies.firstIndex { kept in
      Self.isSame(kept.cookie.name, cookie.name) && Self.isSame(kept.cookie.path, cookie.path)
        && kept.cookie.includesSubdomains == cookie.includesSubdomains
    }
    // The time of creation is kept (RFC 6265, section 5.3).
    let number = old.map { cookies[$0].number } ?? created
    created += 1
    if let old { cookies.remove(at: old) }
    if !cookie.isOver(at: now) { cookies.insert(Kept(cookie: cookie, number: number), at: old ?? cookies.endIndex) }
    if cookies.count > Self.mostOfDomain { cookies.removeAll { $0.cookie.isOver(at: now) } }
    // What only https can set goes last, or http could push it out (RFC 6265bis, section 5.7).
    if cookies.count > Self.mostOfDomain { cookies.remove(at: cookies.firstIndex { !$0.cookie.isSecure } ?? 0) }
    count += cookies.count
    domains[cookie.domain] = cookies.isEmpty ? nil : cookies
    if count > Self.most { shrink(at: now) }
  }

  /// Removes what has expired, and then the oldest cookies, those for https last.
  private mutating func shrink(at now: Date) {
    remove { $0.isOver(at: now) }
    guard count > Self.most else { return }
    let all = domains.values.joined().sorted { one, other in
      one.cookie.isSecure == other.cookie.isSecure ? one.number < other.number : !one.cookie.isSecure
    }
    let gone = Set(all.prefix(count - Self.rest).map(\.number))
    keep { !gone.contains($0.number) }
  }

  mutating func remove(where condition: (SessionCookie) -> Bool) { keep { !condition($0.cookie) } }

  private mutating func keep(_ condition: (Kept) -> Bool) {
    domains = domains.compactMapValues { cookies in
      let kept = cookies.filter(condition)
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
