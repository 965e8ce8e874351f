import CLibCurl
import HTTPTypes
import Netwatch

/// What a task does where libcurl needs the address of a host: it takes the attempt back, looks the name up, and gives libcurl
/// the attempt once more, with the addresses. To the task's machine all this is one attempt.
extension Transfer {
  /// From here on libcurl looks names up by itself: it does not take what it is told.
  private static let mostLookups = 8

  /// libcurl is about to look a name up, and has not said which. From within libcurl.
  ///
  /// - Returns: Whether it must not: it then fails the attempt, and ``lookUp(after:of:)`` follows.
  func takesLookup() -> Bool {
    hasBegun()
    if lookups.isLeftToLibrary {
      lookups.isLeftToLibrary = false
      return false
    }
    guard lookups.count < Self.mostLookups, hosts.contains(where: { !SystemNames.isKnown($0.host) }) else {
      return false
    }
    lookups.isDue = true
    return true
  }

  /// - Parameter code: What libcurl has ended the attempt with.
  /// - Returns: Whether the attempt goes on.
  func lookUp(after code: CURLcode, of easy: CurlEasy) -> Bool {
    guard lookups.isDue else { return false }
    lookups.isDue = false
    guard code != CURLE_OK else { return false }
    lookups.count += 1
    if let host = missingHost(code, easy), !SystemNames.isKnown(host.host) {
      lookups.host = host
      engine.lookUp(host, for: self)
    } else {
      letLibraryLookUp(easy)
    }
    return true
  }

  /// The server, and its proxy if it may have one.
  private var hosts: [Authority] {
    guard let url = engine.url(of: request) else { return [] }
    return [url.server, engine.proxies.proxy(isSecure: url.isSecure)].compactMap(\.self)
  }

  /// libcurl says whether it lacks the address of a proxy. A proxy that speaks SOCKS may want the server's from it.
  private func missingHost(_ code: CURLcode, _ easy: CurlEasy) -> Authority? {
    guard let url = engine.url(of: request) else { return nil }
    let isOfProxy = code == CURLE_COULDNT_RESOLVE_PROXY || code != CURLE_COULDNT_RESOLVE_HOST && easy.opened.isEmpty
    return isOfProxy ? engine.proxies.proxy(isSecure: url.isSecure) ?? url.server : url.server
  }

  func lookedUp(_ answer: NameLookups.Answer) {
    guard machine.isAttached, let easy, let host = lookups.host else { return }
    lookups.host = nil
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
    lookups.isLeftToLibrary = true
    easy.repeatAttempt()
    giveLibrary(easy)
  }

  private func giveLibrary(_ easy: CurlEasy) {
    lookups.duration = max(engine.now - began, .zero)
    do throws(HTTPError) {
      if let refusal = easy.refusal { throw refusal }
      try engine.add(easy)
    } catch {
      return attemptFailed(error, of: easy)
    }
    lastMoved = engine.now
  }
}

/// The lookups of an attempt.
struct AttemptLookups {
  var count = 0
  /// libcurl has wanted to look a name up.
  var isDue = false
  /// The next one is libcurl's: there is nothing to look up, or the addresses are none that it could be told.
  var isLeftToLibrary = false
  /// Whose address is waited for.
  var host: Authority?
  /// From the beginning of the attempt until libcurl has got it last.
  var duration = Duration.zero
}
