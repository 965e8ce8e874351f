import HTTPTypes

extension HTTPFields {
  /// The most fields that are taken from a server, in a head and in the trailers. HTTPFields ends the program at 65,535, which a
  /// head of 256 KiB has room for.
  static let mostReceived = 2_000

  /// Returns a field that may stand once (RFC 9110, section 5.3). Equal ones are one, and empty ones do not count: nginx sends one
  /// beside a `Location` of its configuration. Of different ones none counts, because nobody knows which of them somebody else on the
  /// way has read.
  func single(_ name: HTTPField.Name) -> HTTPField? {
    let all = self[fields: name].filter { !$0.value.isEmpty }
    return all.dropFirst().allSatisfy { $0 == all.first } ? all.first : nil
  }

  /// Returns the value of ``single(_:)``.
  func singleValue(_ name: HTTPField.Name) -> String? { single(name)?.value }

  /// Checks a text that goes into a header without becoming an `HTTPField`, which would check it itself.
  ///
  /// A line break would begin another field, and libcurl stops reading at a NUL.
  ///
  /// - Parameters:
  ///   - text: The text to check. Nil for none.
  ///   - name: What the text is, for the error message.
  /// - Throws: `cannotEncodeRequest`.
  static func check(text: String?, _ name: String) throws(HTTPError) {
    guard let text, text.utf8.contains(where: { $0 == 0x0d || $0 == 0x0a || $0 == 0 }) else { return }
    throw HTTPError(
      .cannotEncodeRequest, "make a header", message: "\(name) has a line break or a NUL in it; leave it out")
  }
}

extension UInt8 {
  /// Whether the byte is a letter or a digit of ASCII.
  var isAlphanumeric: Bool {
    switch Unicode.Scalar(self) {
    case "a"..."z", "A"..."Z", "0"..."9": true
    default: false
    }
  }

  /// Whether the byte may be part of a token of RFC 9110, such as a scheme or the name of a product.
  var isOfToken: Bool { isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}
