import FoundationEssentials
import Glibc
import HTTPTypes
import NetwatchEventLoop

extension HTTPFields {
  /// Returns the header fields that a serializer adds to every request: the languages of the user, and the name of the program
  /// if you pass one.
  ///
  /// - Parameters:
  ///   - languages: The languages in the order of preference. Default: those of the process's locale. If there are none, the
  ///     field is left out.
  ///   - userAgent: The field `User-Agent`. Default: nil, ``HTTPSessionConfiguration/userAgent`` decides.
  public static func standard(
    languages: [String] = HTTPFields.preferredLanguages(), userAgent: String? = nil
  ) -> HTTPFields {
    var fields = HTTPFields()
    fields[.userAgent] = userAgent
    if !languages.isEmpty { fields[.acceptLanguage] = acceptLanguage(languages) }
    return fields
  }

  /// Returns `name/version (system; machine)` in ASCII. Other letters are left out. NetwatchHTTPFoundation transcribes them.
  ///
  /// - Parameters:
  ///   - name: The name of the program. Default: nil, the name of the process.
  ///   - version: The version of the program. Default: nil, it is left out.
  public static func userAgent(name: String? = nil, version: String? = nil) -> String {
    var product = token(name ?? processName ?? "")
    let version = token(version ?? "")
    if !product.isEmpty, !version.isEmpty { product += "/" }
    product += version
    return "\(product.isEmpty ? "netwatch" : product) (\(system()))"
  }

  /// Returns the languages of the environment, as gettext reads it: `LANGUAGE`, else `LC_ALL`, `LC_MESSAGES`, `LANG`.
  ///
  /// - Parameter environment: The environment variables. Default: nil, those of the process.
  public static func preferredLanguages(environment: [String: String]? = nil) -> [String] {
    func value(_ name: String) -> String? { environment.map { $0[name] } ?? String(environment: name) }
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(value).first { !$0.isEmpty } ?? ""
    // Without a locale there are no translations, whatever `LANGUAGE` lists.
    guard let tag = languageTag(locale) else { return [] }
    let listed = (value("LANGUAGE") ?? "").split(separator: ":").compactMap { languageTag(String($0)) }
    var languages: [String] = []
    for language in listed.isEmpty ? [tag] : listed where !languages.contains(language) { languages.append(language) }
    return languages
  }

  /// Returns the field. The first language has no weight, which means 1. Each one after it has a tenth less, down to a half;
  /// further ones are left out.
  static func acceptLanguage(_ languages: [String]) -> String {
    let weighted = languages.prefix(6).enumerated()
    return weighted.map { $0 == 0 ? $1 : "\($1);q=0.\(10 - $0)" }.joined(separator: ", ")
  }

  /// Converts `de_AT.UTF-8@euro` to de-AT. Nil for C, for POSIX and for text that is not a locale.
  private static func languageTag(_ locale: String) -> String? {
    let name = locale.utf8.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "@") }
    guard name.allSatisfy({ $0.isAlphanumeric || "_-".utf8.contains($0) }) else { return nil }
    let tag = String(decoding: name.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }, as: UTF8.self)
    return ["", "C", "POSIX"].contains(tag) ? nil : tag
  }

  /// RFC 9110 allows no spaces and only ASCII in a product's name.
  private static func token(_ text: String) -> String {
    let bytes = text.utf8.filter { $0 < 0x80 }.map { $0.isOfToken ? $0 : UInt8(ascii: "-") }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The name of the process's program. Foundation has it too, but asking Foundation brings 300 KiB of its code into memory.
  private static var processName: String? {
    guard let path = FileDescriptor.target(ofLink: "/proc/self/exe")?.utf8 else { return nil }
    return String(path[(path.lastIndex(of: UInt8(ascii: "/")).map(path.index(after:)) ?? path.startIndex)...])
  }

  private static func system() -> String {
    var names = utsname()
    guard unsafe uname(&names) == 0 else { return "Linux" }
    return "\(text(names.sysname)); \(text(names.machine))"
  }

  /// Returns the text of a C array up to its zero byte.
  private static func text<Array>(_ array: Array) -> String {
    unsafe withUnsafeBytes(of: array) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 && $0 < 0x80 }, as: UTF8.self)
    }
  }
}
