import CLibCurl
import HTTPTypes
import Netwatch

/// What a task does where libcurl needs the address of a host: it takes the attempt back, looks the name up, and gives libcurl
/// the attempt once more, with the addresses. To the task's machine all this is one attempt.
extension Transfer {
  /// From here on libcurl looks names up by itself: it does not take what it is told.
  private static let mostLookups = 8

  /// Whether the lookup that libcurl is about to begin is made here: then ``lookUp(after:of:)`` follows.
  func beginLookup() -> Bool {
    hasBegun()
    if attempt.isLeftToLibrary {
      attempt.isLeftToLibrary = false
      return false
    }
    guard attempt.lookups < Self.mostLookups, hosts.contains(where: { !NameLookups.isKnown($0.host) }) else {
      return false
    }
    attempt.isLookupDue = true
    return true
  }

  /// - Parameter code: What libcurl has ended the attempt with.
  /// - Returns: Whether the attempt goes on.
  func lookUp(after code: CURLcode, of easy: CurlEasy) -> Bool {
    guard attempt.isLookupDue else { return false }
    attempt.isLookupDue = false
    guard code != CURLE_OK else { return false }
    attempt.lookups += 1
    if let host = missingHost(code, easy), !NameLookups.isKnown(host.host) {
      attempt.host = host
      engine.lookUp(host, for: self)
    } else {
      letLibraryLookUp(easy)
    }
    return true
  }

  /// The server, and its proxy if it may have one.
  private var hosts: [Authority] {
    guard let url = curl.url(of: chain.request) else { return [] }
    return [url.server, curl.settings.proxies.proxy(isSecure: url.isSecure)].compactMap(\.self)
  }

  /// The host whose address libcurl lacks. A proxy that speaks SOCKS may want the server's address from the client, after its own.
  private func missingHost(_ code: CURLcode, _ easy: CurlEasy) -> Authority? {
    guard let url = curl.url(of: chain.request) else { return nil }
    guard let proxy = curl.settings.proxies.proxy(isSecure: url.isSecure) else { return url.server }
    if code == CURLE_COULDNT_RESOLVE_PROXY { return proxy }
    guard easy.opened.isEmpty else { return url.server }
    guard code == CURLE_COULDNT_RESOLVE_HOST else { return proxy }
    // A server among the exceptions is reached without the proxy, so it comes second.
    return CurlLibrary.tellsProxyFromHost || attempt.lookups > 1 ? url.server : proxy
  }

  func lookedUp(_ answer: NameLookups.Answer) {
    guard machine.isAttached, let easy, let host = attempt.host else { return }
    attempt.host = nil
    switch answer {
    case .success(let addresses) where addresses.isEmpty: letLibraryLookUp(easy)
    case .success(let addresses):
      engine.uses(addresses, of: host)
      easy.repeatAttempt(with: addresses, of: host)
      giveLibrary(easy)
    case .failure(let failure): attemptFailed(failure, of: easy)
    }
  }

  private func letLibraryLookUp(_ easy: CurlEasy) {
    attempt.isLeftToLibrary = true
    easy.repeatAttempt()
    giveLibrary(easy)
  }

  private func giveLibrary(_ easy: CurlEasy) {
    attempt.lookupDuration = max(engine.now - attempt.began, .zero)
    do throws(HTTPError) {
      if let refusal = easy.refusal { throw refusal }
      try curl.add(easy)
    } catch {
      return attemptFailed(error, of: easy)
    }
    lastMoved = engine.now
  }
}
