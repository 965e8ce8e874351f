extension Substring {
  /// The text that a URL encodes with `%` and two hexadecimal digits per byte (RFC 3986, section 2.1). Nil if `%` is not
  /// followed by two digits, or if the result is not UTF-8.
  package var percentDecoded: String? { percentDecodedBytes.flatMap { String(validating: $0, as: UTF8.self) } }

  /// The bytes that a URL encodes with `%` and two hexadecimal digits per byte. Nil if `%` is not followed by two digits.
  package var percentDecodedBytes: [UInt8]? {
    var bytes: [UInt8] = []
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(Self.hexDigit), let low = rest.popFirst().flatMap(Self.hexDigit) else {
        return nil
      }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.flatMap { byte < 0x80 ? UInt8($0) : nil }
  }
}
