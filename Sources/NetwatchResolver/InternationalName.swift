import Netwatch
import NetwatchIDNA

/// International names of hosts elsewhere, as a resolver asks for them.
package enum InternationalName {
  /// The name to ask for: `bücher.example` becomes `xn--bcher-kva.example`, and what is ASCII already stays as it is.
  ///
  /// - Throws: one sentence, where letters are not allowed in names or not next to each other. To be called before
  ///   anything starts.
  package static func ascii(of name: HostName) throws(NetworkTargetError) -> HostName {
    guard name.isInternational else { return name }
    let ascii: String
    do throws(IDNA.Failure) {
      ascii = try IDNA.ascii(name.name)
    } catch {
      throw NetworkTargetError("'\(name)' is not a host name (\(error)); check its letters, or write its xn-- form.")
    }
    // The tables turn some letters into dots, digits and others that make an address, or this machine, of a name.
    return try HostName(ascii)
  }
}
