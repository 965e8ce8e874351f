import CLibIDN2
import Netwatch

/// International host names as the ASCII that name servers know (IDNA 2008 and UTS #46, non-transitional).
package enum InternationalName {
  /// The name to ask for: `bücher.example` becomes `xn--bcher-kva.example`, and what is ASCII already stays as it is.
  ///
  /// - Throws: one sentence, where letters are not allowed in names or not next to each other. To be called before
  ///   anything starts.
  package static func ascii(of name: HostName) throws(NetworkTargetError) -> HostName {
    guard name.isInternational else { return name }
    var converted: UnsafeMutablePointer<UInt8>?
    let flags = CInt(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
    let code = unsafe idn2_lookup_u8(Array(name.name.utf8) + [0], &converted, flags)
    guard code == IDN2_OK.rawValue, let converted = unsafe converted else {
      let reason = unsafe String(cString: idn2_strerror(code))
      throw NetworkTargetError("'\(name)' is not a host name (\(reason)); check its letters, or write its xn-- form.")
    }
    defer { unsafe idn2_free(converted) }
    // The tables turn some letters into dots, digits and others that make an address, or this machine, of a name.
    return try HostName(unsafe String(cString: converted))
  }
}
