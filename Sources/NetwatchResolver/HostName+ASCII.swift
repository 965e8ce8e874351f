import Netwatch
import NetwatchIDNA

extension HostName {
  /// Returns the name in the form for name servers: `bücher.example` becomes `xn--bcher-kva.example`, and a name in ASCII stays
  /// as it is.
  ///
  /// - Throws: A `PlainError` if letters are not allowed in names or not next to each other. Call this before anything starts.
  package func inASCII() throws(PlainError) -> HostName {
    guard isInternational else { return self }
    let ascii: String
    do throws(IDNA.Failure) {
      ascii = try IDNA.ascii(name)
    } catch {
      throw PlainError("'\(self)' is not a host name (\(error)); check its letters, or write its xn-- form.")
    }
    // The conversion changes some letters into dots, digits and other characters, so that the result may be an address or the
    // name of this machine.
    do {
      return try HostName(ascii)
    } catch {
      throw PlainError(error.description)
    }
  }
}
