import CLibOpenSSL

/// What OpenSSL has noted on this thread about the calls that have failed.
struct OpenSSLErrors {
  /// In OpenSSL's words, the oldest first, with its data: `unsupported: Algorithm (RC2-40-CBC : 0), Properties ()`.
  private(set) var texts: [String] = []
  /// The numbers within their libraries.
  private(set) var reasons: [CInt] = []

  /// Takes the notes.
  init() {
    while texts.count < 16 {
      var (data, flags) = unsafe (UnsafePointer<CChar>?.none, CInt(0))
      let code = unsafe ERR_get_error_all(nil, nil, nil, &data, &flags)
      guard code != 0 else { break }
      reasons.append(CInt(truncatingIfNeeded: code & 0x7f_ffff))
      let words = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "error \(code)"
      let more = unsafe flags & ERR_TXT_STRING != 0 ? data.map { unsafe String(cString: $0) } ?? "" : ""
      texts.append(more.isEmpty ? words : "\(words): \(more)")
    }
    ERR_clear_error()
  }

  var text: String { texts.joined(separator: "; ") }

  /// The algorithm that OpenSSL does not know, or only with its legacy provider.
  var unsupportedAlgorithm: String? {
    for text in texts where text.hasPrefix("unsupported") {
      guard let start = text.firstRange(of: "Algorithm (") else { continue }
      return String(text[start.upperBound...].prefix { $0 != " " && $0 != ")" })
    }
    return nil
  }
}
