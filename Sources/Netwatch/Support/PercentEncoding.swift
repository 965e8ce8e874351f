/// The encoding of bytes in URLs as `%` and two hexadecimal digits (RFC 3986, section 2.1).
package enum PercentEncoding {
  /// - Returns: nil if `%` is not followed by two digits, or if what comes out is not UTF-8.
  package static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.flatMap { byte < 0x80 ? UInt8($0) : nil }
  }
}
