import Netwatch

// Names are of strangers' making: a WiFi network may be called anything. Here they become text that steers nothing, and then
// text of a bar that opens no markup.

extension LineBuffer {
  /// Appends a name as UTF-8, without what ``Unicode/Scalar/steersText``.
  mutating func append(clean name: InterfaceName?) {
    guard let name else { return }
    appendClean(count: name.count, byte: { name[$0] }, text: { name.text })
  }

  mutating func append(clean name: SSID?) {
    guard let name else { return }
    appendClean(count: name.count, byte: { name[$0] }, text: { name.text })
  }

  /// Only what is not plain ASCII is made a string of.
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
    for scalar in text.unicodeScalars where !scalar.steersText {
      for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(byte) }
    }
  }

  /// Appends the words of a code of the stream.
  mutating func append(words code: String) {
    for byte in code.utf8 { append(byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-") ? UInt8(ascii: " ") : byte) }
  }

  /// Appends text within a string of JSON.
  mutating func append(json byte: UInt8) {
    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { append("\\") }
    append(byte)
  }

  /// Appends text within markup of Pango, within a string of JSON.
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

  /// How many bytes at the end of the text are `byte`.
  func trailing(_ byte: UInt8) -> Int {
    var length = 0
    while length < count, self[count - 1 - length] == byte { length += 1 }
    return length
  }
}
