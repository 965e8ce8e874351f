import CLibIDN2

/// International host names as the ASCII that name servers and certificates know (IDNA 2008 and UTS #46, non-transitional).
package enum IDNA {
  /// Why a name has no such form: libidn2's words.
  package struct Failure: Error, Hashable, CustomStringConvertible {
    package let description: String
  }

  /// `bücher.example` becomes `xn--bcher-kva.example`.
  ///
  /// The tables turn some letters into dots, slashes, digits and other characters that no name has, or that make an
  /// address of it. The caller has to look at what comes out.
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
