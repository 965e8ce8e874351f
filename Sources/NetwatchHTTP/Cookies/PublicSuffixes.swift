import CLibPSL

/// The domains under which anybody can have a name, such as `co.uk` (https://publicsuffix.org). No cookie is for a whole one of them.
@safe enum PublicSuffixes {
  /// The newest list: the system's, or the one in libpsl. It is read once and never changes, so any thread can use it.
  nonisolated(unsafe) private static let list = unsafe psl_latest(nil)

  /// - Parameter domain: A domain in lower case and ASCII, without a dot at either end. A domain of one label counts as public, even if
  ///   it is on no list.
  static func contains(_ domain: String) -> Bool { unsafe psl_is_public_suffix(list, domain) != 0 }
}
