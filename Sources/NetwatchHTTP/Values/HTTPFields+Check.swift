import HTTPTypes

extension HTTPFields {
  /// Checks a text that is written into a header without being an `HTTPField`, which sees to it itself.
  ///
  /// A line break would begin another field, and libcurl takes no more than what stands before a NUL.
  ///
  /// - Parameters:
  ///   - text: nil for none.
  ///   - name: of the text, for people.
  /// - Throws: `cannotEncodeRequest`.
  static func check(text: String?, _ name: String) throws(HTTPError) {
    guard let text, text.utf8.contains(where: { $0 == 0x0d || $0 == 0x0a || $0 == 0 }) else { return }
    throw HTTPError(
      .cannotEncodeRequest, "make a header", message: "\(name) has a line break or a NUL in it; leave it out")
  }
}

extension UInt8 {
  /// A letter or a digit of ASCII.
  var isAlphanumeric: Bool {
    switch Unicode.Scalar(self) {
    case "a"..."z", "A"..."Z", "0"..."9": true
    default: false
    }
  }

  /// Whether it may stand in a token of RFC 9110, such as a scheme or the name of a product.
  var isOfToken: Bool { isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}
