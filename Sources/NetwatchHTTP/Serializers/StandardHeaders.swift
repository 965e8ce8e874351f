import FoundationEssentials
import Glibc
import HTTPTypes

extension HTTPFields {
  /// The fields that every request of a serializer has: the languages of the user, and a name of the program if you give one.
  ///
  /// - Parameters:
  ///   - languages: In the order of preference. Default: those of the process's locale; for none the field is left out.
  ///   - userAgent: The field `User-Agent`. Default: nil, which leaves it to ``HTTPSessionConfiguration/userAgent``.
  public static func standard(
    languages: [String] = HTTPFields.preferredLanguages(), userAgent: String? = nil
  ) -> HTTPFields {
    var fields = HTTPFields()
    fields[.userAgent] = userAgent
    if !languages.isEmpty { fields[.acceptLanguage] = acceptLanguage(languages) }
    return fields
  }

  /// `name/version (system; machine)`, in ASCII: other letters are left out. NetwatchHTTPFoundation transcribes them.
  ///
  /// - Parameters:
  ///   - name: Of the program. Default: the process's.
  ///   - version: Nil leaves it out.
  public static func userAgent(name: String? = nil, version: String? = nil) -> String {
    let product = [name ?? ProcessInfo.processInfo.processName, version].compactMap { $0 }.map(token)
      .filter { !$0.isEmpty }.joined(separator: "/")
    return "\(product.isEmpty ? "netwatch" : product) (\(system()))"
  }

  /// The languages that the environment names, as gettext reads it: `LANGUAGE`, else `LC_ALL`, `LC_MESSAGES`, `LANG`.
  ///
  /// - Parameter environment: Default: the process's.
  public static func preferredLanguages(
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> [String] {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    // Without a locale there are no translations, whatever languages are listed.
    guard let tag = languageTag(locale) else { return [] }
    let listed = (environment["LANGUAGE"] ?? "").split(separator: ":").compactMap { languageTag(String($0)) }
    var languages: [String] = []
    for language in listed.isEmpty ? [tag] : listed where !languages.contains(language) { languages.append(language) }
    return languages
  }

  /// The first language alone has no weight, which means 1; each one after it has a tenth less, down to a half, where
  /// it ends.
  static func acceptLanguage(_ languages: [String]) -> String {
    let weighted = languages.prefix(6).enumerated()
    return weighted.map { $0 == 0 ? $1 : "\($1);q=0.\(10 - $0)" }.joined(separator: ", ")
  }

  /// `de_AT.UTF-8@euro` is de-AT; nil for C, for POSIX and for what is no locale.
  private static func languageTag(_ locale: String) -> String? {
    let name = locale.prefix { $0 != "." && $0 != "@" }
    let isLocale = !name.isEmpty && name.utf8.allSatisfy { $0.isAlphanumeric || "_-".utf8.contains($0) }
    guard isLocale, name != "C", name != "POSIX" else { return nil }
    return String(name.map { $0 == "_" ? "-" : $0 })
  }

  /// RFC 9110 allows a product's name no spaces, and no more than ASCII.
  private static func token(_ text: String) -> String {
    let bytes = text.utf8.filter { $0 < 0x80 }.map { $0.isOfToken ? $0 : UInt8(ascii: "-") }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func system() -> String {
    var names = utsname()
    guard unsafe uname(&names) == 0 else { return "Linux" }
    return "\(text(names.sysname)); \(text(names.machine))"
  }

  /// An array of C, up to its zero.
  private static func text<Array>(_ array: Array) -> String {
    unsafe withUnsafeBytes(of: array) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 && $0 < 0x80 }, as: UTF8.self)
    }
  }
}
