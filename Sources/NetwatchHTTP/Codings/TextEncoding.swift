import FoundationEssentials
import NetwatchLibC

/// A text encoding that servers name by a charset label, for example in `Content-Type`.
///
/// A label has the meaning that browsers give it (WHATWG Encoding Standard). `latin1` and `us-ascii` are windows-1252,
/// `shift_jis` is windows-31j, and `gb2312` is GB18030. `utf-16` is little-endian unless the text begins with a byte
/// order mark that says otherwise. Labels outside the standard are those of glibc's iconv. Some distributions package its tables
/// separately (Fedora: glibc-gconv-extra).
public struct TextEncoding: Hashable, Sendable {
  private enum Method: Hashable {
    case utf8
    case utf16(isBigEndian: Bool)
    case windows1252
    /// A charset by its name in iconv.
    case library(String)
  }

  /// Longer than any known label.
  private static let longestLabel = 40

  /// UTF-8.
  public static let utf8 = TextEncoding(.utf8)
  /// UTF-16 with the low byte first, unless the text begins with a byte order mark that says otherwise.
  public static let utf16LittleEndian = TextEncoding(.utf16(isBigEndian: false))
  /// UTF-16 with the high byte first, unless the text begins with a byte order mark that says otherwise.
  public static let utf16BigEndian = TextEncoding(.utf16(isBigEndian: true))
  /// windows-1252: ISO-8859-1 with additional letters instead of some control characters. It can decode any bytes.
  public static let windows1252 = TextEncoding(.windows1252)

  private let method: Method

  private init(_ method: Method) { self.method = method }

  /// Creates the encoding with a label. Nil for an unknown label.
  ///
  /// Nil also for encodings in which the same bytes can be read as different texts, such as UTF-7 and ISO-2022-KR. Browsers
  /// refuse these as well.
  ///
  /// - Parameter label: The name of a charset in upper or lower case, such as `utf-8` or `koi8-r`.
  public init?(_ label: String) {
    let label = label.trimmed
    guard 1...Self.longestLabel ~= label.utf8.count,
      label.utf8.allSatisfy({ $0.isAlphanumeric || "-_.:()+".utf8.contains($0) })
    else { return nil }
    let key = String(decoding: label.lowercased().utf8.filter(\.isAlphanumeric), as: UTF8.self)
    if let known = Self.known[key] {
      method = known
      return
    }
    let isAmbiguous = ["iso2022", "csiso2022", "hz", "utf7", "unicode11utf7", "csunicode11utf7"].contains {
      key.hasPrefix($0)
    }
    guard !isAmbiguous, (try? Converter(label)) != nil else { return nil }
    method = .library(label)
  }

  private static let known: [String: Method] = {
    var known: [String: Method] = [:]
    func add(_ method: Method, _ keys: String) { for key in keys.split(separator: " ") { known[String(key)] = method } }
    add(.utf8, "utf8 unicode11utf8 unicode20utf8 xunicode20utf8 csutf8")
    add(.utf16(isBigEndian: false), "utf16 utf16le unicode csunicode ucs2 iso10646ucs2 unicodefeff csutf16 csutf16le")
    add(.utf16(isBigEndian: true), "utf16be unicodefffe csutf16be")
    add(
      .windows1252,
      "ascii usascii ansix341968 latin1 l1 iso88591 iso885911987 isoir100 csisolatin1 cp819 ibm819 windows1252 cp1252 xcp1252"
    )
    add(.library("CP1254"), "iso88599 iso885991989 latin5 l5 isoir148 csisolatin5 windows1254 cp1254 xcp1254")
    add(.library("WINDOWS-874"), "iso885911 tis620 dos874 windows874")
    add(.library("CP932"), "shiftjis sjis xsjis mskanji csshiftjis ms932 windows31j cswindows31j")
    add(.library("EUC-JP-MS"), "eucjp xeucjp cseucpkdfmtjapanese")
    add(.library("ISO-2022-JP"), "iso2022jp csiso2022jp")
    add(.library("GB18030"), "gb18030 gbk xgbk gb2312 gb231280 csgb2312 chinese csiso58gb231280 isoir58 cp936 ms936")
    add(.library("BIG5-HKSCS"), "big5 big5hkscs cnbig5 xxbig5 csbig5")
    add(.library("UHC"), "euckr cseuckr korean ksc56011987 ksc56011989 ksc5601 csksc56011987 isoir149 windows949")
    add(.library("KOI8-R"), "koi koi8 koi8r cskoi8r")
    add(.library("KOI8-U"), "koi8u koi8ru")
    add(.library("ISO-8859-8"), "iso88598i iso88598e logical visual csiso88598i csiso88598e")
    add(.library("MACINTOSH"), "macintosh mac xmacroman csmacintosh")
    add(.library("MAC-CYRILLIC"), "xmaccyrillic xmacukrainian")
    for number in 1250...1258 where number != 1252 && number != 1254 {
      add(.library("CP\(number)"), "windows\(number) cp\(number) xcp\(number)")
    }
    return known
  }()
}

// MARK: Decoding

extension TextEncoding {
  /// Returns the encoding and the length of a byte order mark at the beginning of the bytes. Nil if there is none.
  static func mark(of bytes: Data) -> (encoding: TextEncoding, length: Int)? {
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) { return (.utf8, 3) }
    if bytes.starts(with: [0xff, 0xfe]) { return (.utf16LittleEndian, 2) }
    if bytes.starts(with: [0xfe, 0xff]) { return (.utf16BigEndian, 2) }
    return nil
  }

  /// Returns the text of bytes in this encoding, without their byte order mark. A mark decides the byte order of UTF-16.
  ///
  /// - Parameter bytes: The bytes to decode.
  /// - Throws: `cannotDecodeContentData` for bytes that are not valid in this encoding, or that end within a character.
  public func decode(_ bytes: Data) throws(HTTPError) -> String {
    switch method {
    case .utf8:
      let start = Self.mark(of: bytes).flatMap { $0.encoding == .utf8 ? $0.length : nil } ?? 0
      guard let text = String(validating: bytes.dropFirst(start), as: UTF8.self) else { throw Self.refusal("UTF-8") }
      return text
    case .utf16(let isBigEndian): return try Self.decode(bytes, isBigEndian: isBigEndian)
    case .windows1252:
      return String(String.UnicodeScalarView(bytes.map { Self.windows1252Scalars[Int($0)] }))
    case .library(let name): return try Converter(name).decode(bytes)
    }
  }

  private static func decode(_ bytes: Data, isBigEndian: Bool) throws(HTTPError) -> String {
    var (bytes, isBigEndian) = (bytes[...], isBigEndian)
    if let mark = mark(of: bytes), mark.encoding != .utf8 {
      isBigEndian = mark.encoding == .utf16BigEndian
      bytes = bytes.dropFirst(mark.length)
    }
    guard bytes.count.isMultiple(of: 2) else { throw refusal("UTF-16") }
    var units: [UInt16] = []
    units.reserveCapacity(bytes.count / 2)
    var iterator = bytes.makeIterator()
    while let first = iterator.next(), let second = iterator.next() {
      let (high, low) = isBigEndian ? (first, second) : (second, first)
      units.append(UInt16(high) << 8 | UInt16(low))
    }
    guard let text = String(validating: units, as: UTF16.self) else { throw refusal("UTF-16") }
    return text
  }

  /// A scalar for each byte. The standard keeps five control characters for bytes without a character in windows-1252.
  private static let windows1252Scalars: [Unicode.Scalar] = {
    var scalars = (0...255).map { Unicode.Scalar(UInt8($0)) }
    let letters = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ"
    for (place, scalar) in zip(0x80..., letters.unicodeScalars) { scalars[place] = scalar }
    return scalars
  }()

  fileprivate static func refusal(_ name: String, code: CInt = 0) -> HTTPError {
    HTTPError(
      .cannotDecodeContentData, "decode text", code: code, domain: code == 0 ? nil : .system,
      message: "it is not \(name)")
  }
}

/// A converter of glibc from one charset to UTF-8, for one text. Its state never leaves this file.
@safe private final class Converter {
  private static let roomSize = 16 * 1_024

  private let name: String
  private let state: iconv_t

  /// - Throws: `cannotDecodeContentData` if glibc does not know the charset, or if its module is missing.
  init(_ name: String) throws(HTTPError) {
    self.name = name
    unsafe state = iconv_open("UTF-8", name)
    // iconv_open returns -1 for an error.
    guard unsafe Int(bitPattern: state) != -1 else {
      throw HTTPError(
        .cannotDecodeContentData, "decode text", code: errno, domain: .system,
        message: "the charset '\(name)' is not known")
    }
  }

  deinit {
    if unsafe Int(bitPattern: state) != -1 { unsafe iconv_close(state) }
  }

  func decode(_ bytes: Data) throws(HTTPError) -> String {
    var input = [CChar](bytes.map { CChar(bitPattern: $0) })
    var text: [UInt8] = []
    text.reserveCapacity(input.count)
    var room = [CChar](repeating: 0, count: Self.roomSize)
    var (used, isFlushed) = (0, false)
    // The last call writes what is left after the last byte: a shift, or a letter that waited for its accent.
    while !isFlushed {
      isFlushed = used == input.count
      let (taken, filled, code) = convert(&input, from: used, &room)
      used += taken
      text += room[..<filled].lazy.map { UInt8(bitPattern: $0) }
      guard code == 0 || code == E2BIG else { throw TextEncoding.refusal(name, code: code) }
      if code == E2BIG { isFlushed = false }
    }
    guard let text = String(validating: text, as: UTF8.self) else { throw TextEncoding.refusal(name) }
    return text
  }

  /// - Returns: The number of bytes taken and filled, and `errno` or 0.
  private func convert(
    _ input: inout [CChar], from start: Int, _ room: inout [CChar]
  ) -> (taken: Int, filled: Int, code: CInt) {
    unsafe input.withUnsafeMutableBufferPointer { input in
      unsafe room.withUnsafeMutableBufferPointer { room in
        var (left, space) = (input.count - start, room.count)
        var end = room.baseAddress
        guard left > 0 else {
          let result = unsafe iconv(state, nil, nil, &end, &space)
          return (0, room.count - space, Self.code(result))
        }
        var next = unsafe input.baseAddress.map { unsafe $0 + start }
        let result = unsafe iconv(state, &next, &left, &end, &space)
        return (input.count - start - left, room.count - space, Self.code(result))
      }
    }
  }

  /// iconv returns (size_t)-1 for an error.
  private static func code(_ result: Int) -> CInt { result == -1 ? errno : 0 }
}

extension String {
  /// The text without spaces and tabs at its ends.
  fileprivate var trimmed: String { split { $0 == " " || $0 == "\t" }.joined(separator: " ") }
}
