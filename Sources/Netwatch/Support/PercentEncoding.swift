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

  fileprivate static func hexDigit(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.flatMap { byte < 0x80 ? UInt8($0) : nil }
  }
}

extension [UInt8] {
  /// Returns these bytes of a URL with those percent-encoded that are not allowed at their place. What is encoded already stays as it is
  /// (RFC 3986, section 2.4), and so does the first `#`, which begins the fragment.
  ///
  /// - Parameter isAllowed: Returns whether a byte, apart from `%` and `#`, may stand at a position.
  package func percentEncoded(where isAllowed: (_ position: Int, _ byte: UInt8) -> Bool) -> [UInt8] {
    var result: [UInt8] = []
    var isInFragment = false
    for (position, byte) in enumerated() {
      let isKept =
        switch byte {
        case UInt8(ascii: "%"): dropFirst(position + 1).prefix(2).count { Substring.hexDigit($0) != nil } == 2
        case UInt8(ascii: "#"): !isInFragment
        default: isAllowed(position, byte)
        }
      if byte == UInt8(ascii: "#") { isInFragment = true }
      if isKept {
        result.append(byte)
      } else {
        result += [UInt8(ascii: "%"), Self.hexDigits[Int(byte >> 4)], Self.hexDigits[Int(byte & 15)]]
      }
    }
    return result
  }

  private static let hexDigits = Array("0123456789ABCDEF".utf8)
}
