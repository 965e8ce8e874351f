import Netwatch

// Strangers choose names, such as that of a WiFi network. So characters that could control the output are removed from names,
// and characters that could open markup of a bar are escaped.

extension LineBuffer {
  /// Appends a name as UTF-8, without characters for which ``Unicode/Scalar/isUnsafeInTerminal`` is true.
  mutating func append(clean name: InterfaceName?) {
    guard let name else { return }
    appendClean(count: name.count, byte: { name[$0] }, text: { name.text })
  }

  mutating func append(clean name: SSID?) {
    guard let name else { return }
    appendClean(count: name.count, byte: { name[$0] }, text: { name.text })
  }

  /// Appends a name. A string is created only if the name is not plain ASCII.
  private mutating func appendClean(count length: Int, byte: (Int) -> UInt8, text: () -> String) {
    let start = count
    for position in 0..<length {
      let byte = byte(position)
      guard 0x20..<0x7f ~= byte else {
        removeLast(count - start)
        append(clean: text())
        return
      }
      append(byte)
    }
  }

  private mutating func append(clean text: String) {
    for scalar in text.unicodeScalars where !scalar.isUnsafeInTerminal {
      for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(byte) }
    }
  }

  /// Appends a byte to a JSON string, with an escape if necessary.
  mutating func append(json byte: UInt8) {
    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { append("\\") }
    append(byte)
  }

  /// Appends a byte to Pango markup in a JSON string, as an entity if necessary.
  mutating func append(pango byte: UInt8) {
    switch byte {
    case UInt8(ascii: "<"): append("&lt;")
    case UInt8(ascii: ">"): append("&gt;")
    case UInt8(ascii: "&"): append("&amp;")
    case UInt8(ascii: "\""): append("&quot;")
    case UInt8(ascii: "'"): append("&#39;")
    default: append(json: byte)
    }
  }

  /// Returns whether a part of the text has no characters beyond ASCII.
  func isASCII(_ range: Range<Int>) -> Bool {
    for position in range where self[position] >= 0x80 { return false }
    return true
  }

  /// Returns how many bytes at the end of the text are equal to `byte`.
  func trailing(_ byte: UInt8) -> Int {
    var length = 0
    while length < count, self[count - 1 - length] == byte { length += 1 }
    return length
  }
}
