import Netwatch
import NetwatchIDNA

extension HostName {
  /// The name as a resolver asks for it: `bücher.example` becomes `xn--bcher-kva.example`, and what is ASCII already stays as
  /// it is.
  ///
  /// - Throws: one sentence, if letters are not allowed in names or not next to each other. To be called before anything
  ///   starts.
  package func inASCII() throws(PlainError) -> HostName {
    guard isInternational else { return self }
    let ascii: String
    do throws(IDNA.Failure) {
      ascii = try IDNA.ascii(name)
    } catch {
      throw PlainError("'\(self)' is not a host name (\(error)); check its letters, or write its xn-- form.")
    }
    // The tables turn some letters into dots, digits and others that make an address, or this machine, of a name.
    return try HostName(ascii)
  }
}
