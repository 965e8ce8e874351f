import CLibIDN2

/// Converts international host names to the ASCII form for name servers and certificates (IDNA 2008 and UTS #46,
/// non-transitional).
package enum IDNA {
  /// The error that a name has no ASCII form.
  package struct Failure: Error, Hashable, CustomStringConvertible {
    /// The reason, in the words of libidn2.
    package let description: String
  }

  /// Converts a name, such as `bücher.example`, to `xn--bcher-kva.example`.
  ///
  /// The conversion changes some letters into dots, slashes, digits and other characters, which are not allowed in names or
  /// make the name an address. The caller has to check the result.
  ///
  /// - Throws: A ``Failure`` if the name has no ASCII form.
  package static func ascii(_ name: String) throws(Failure) -> String {
    guard !name.utf8.contains(0) else { throw Failure(description: "a NUL is in it") }
    var converted: UnsafeMutablePointer<UInt8>?
    let flags = CInt(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
    let code = unsafe idn2_lookup_u8(Array(name.utf8) + [0], &converted, flags)
    guard code == IDN2_OK.rawValue, let converted = unsafe converted else {
      throw Failure(description: unsafe String(cString: idn2_strerror(code)))
    }
    defer { unsafe idn2_free(converted) }
    return unsafe String(cString: converted)
  }
}
