/// The ASCII characters that are not encoded in a query or a form. All others are percent-encoded.
struct PlainCharacters: Sendable {
  /// The unreserved characters of RFC 3986, section 2.3, and `?` and `/`.
  static let ofQuery = PlainCharacters(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~?/".unicodeScalars)

  /// One bit for each character of ASCII.
  private let bits: UInt128

  init(_ characters: some Sequence<Unicode.Scalar>) {
    bits = characters.reduce(0) { Self.isAllowed($1) ? $0 | 1 << UInt128($1.value) : $0 }
  }

  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    // They separate fields, end the query, or encode other characters.
    case "&", "#", "%", "+": false
    default: 0x21...0x7e ~= scalar.value
    }
  }

  var characters: Set<Unicode.Scalar> {
    Set((UInt8(0)..<0x80).filter { bits >> UInt128($0) & 1 == 1 }.map { Unicode.Scalar($0) })
  }

  /// - Parameter isName: Whether the text is a name, which a `=` would end.
  func escape(
    _ text: String, _ spaces: URLEncodedFormEncoder.SpaceEncoding = .percentEncoded, isName: Bool = false
  ) -> String {
    let plain = isName ? bits & ~(1 << UInt128(UInt8(ascii: "="))) : bits
    var escaped: [UInt8] = []
    escaped.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if byte < 0x80, plain >> UInt128(byte) & 1 == 1 {
        escaped.append(byte)
      } else if byte == UInt8(ascii: " "), spaces == .plus {
        escaped.append(UInt8(ascii: "+"))
      } else {
        escaped.append(UInt8(ascii: "%"))
        escaped.append(URLEncodedFormEncoder.hexDigit(byte >> 4))
        escaped.append(URLEncodedFormEncoder.hexDigit(byte & 0xf))
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }
}
