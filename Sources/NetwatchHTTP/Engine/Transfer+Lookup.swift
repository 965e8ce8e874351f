import CLibCurl
import HTTPTypes
import Netwatch

/// The name lookups of a task. When libcurl needs the address of a host, the task takes the attempt back, looks the name up,
/// and gives libcurl the attempt again with the addresses. For the task's machine, all this is one attempt.
extension Transfer {
  /// The most lookups of an attempt. After them, libcurl looks names up itself, because it does not accept the addresses that
  /// it is given.
  private static let mostLookups = 8

  /// Returns whether the task makes the lookup that libcurl is about to begin. If so, ``lookUp(after:of:)`` follows.
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

  /// Looks a name up after libcurl has ended the attempt for want of the addresses.
  ///
  /// - Parameter code: The code with which libcurl has ended the attempt.
  /// - Returns: Whether the attempt continues.
  func lookUp(after code: CURLcode, of easy: CurlEasy) -> Bool {
    guard attempt.isLookupDue else { return false }
    attempt.isLookupDue = false
    guard code != CURLE_OK else { return false }
    attempt.lookups += 1
    if easy.hasSent, !easy.isRejected { attempt.wasSent = true }
    if let host = missingHost(code, easy), !NameLookups.isKnown(host.host) {
      attempt.host = host
      engine.lookUp(host, for: self)
    } else {
      letLibraryLookUp(easy)
    }
    return true
  }

  /// The server, and its proxy if one may be used.
  private var hosts: [Authority] {
    guard let url = curl.url(of: chain.request) else { return [] }
    return [url.server, curl.settings.proxies.proxy(isSecure: url.isSecure)].compactMap(\.self)
  }

  /// Returns the host whose address libcurl lacks. With a SOCKS proxy, the client may need the server's address after the
  /// address of the proxy.
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
