import FoundationEssentials

/// Whom a session trusts. A server that is not trusted sees nothing of a request: the task fails with
/// `serverCertificateUntrusted`.
public struct SecurityPolicy: Sendable {
  public enum PinningMode: Hashable, Sendable {
    /// The roots, and the name of the host.
    case none
    /// The chain has to be valid, and some certificate of it has to have the key of a pin: of ``SecurityPolicy/pins`` or of
    /// ``SecurityPolicy/keyPins``.
    case publicKey
    /// The pins are the only roots, be they roots, intermediates or servers' own, and one of them has to be in the chain.
    case certificate
  }

  public enum Roots: Sendable {
    /// The system's.
    case system
    /// These alone.
    case certificates([Certificate])
  }

  /// Looks at a chain that everything else in the policy trusts. What it throws makes the host untrusted.
  ///
  /// - Parameters:
  ///   - chain: The verified chain: the server's certificate first, its root last.
  ///   - host: The name or the address of the server or of the proxy, in lower case and without a port. International names
  ///     are as they are looked up.
  public typealias Check = @Sendable (_ chain: [Certificate], _ host: String) throws -> Void

  public private(set) var pinningMode = PinningMode.none
  public private(set) var pins: [Certificate] = []
  /// The keys that are pinned by their hash, beside those of ``pins``. Only in the mode `publicKey`.
  public private(set) var keyPins: [PublicKeyPin] = []
  public private(set) var roots = Roots.system
  public private(set) var allowsInvalidCertificates = false
  public private(set) var validatesDomainName = true
  /// The certificates that are trusted no more. Empty: nobody looks them up.
  public private(set) var revocationLists: [RevocationList] = []
  /// A judgement of your own after all others; nil for none.
  public private(set) var check: Check?

  /// The system's roots, and the name of the host.
  public static let system = SecurityPolicy()

  private init() {}

  /// - Parameters:
  ///   - pinningMode: what the pins are for.
  ///   - pins: certificates. With pinning, there has to be at least one pin of either kind.
  ///   - keyPins: hashes of keys, for the mode `publicKey`. Pin a backup key as well: a server that has to give up its only pinned
  ///     key, because it was lost or stolen, cannot be reached with this policy any more.
  ///   - roots: whose certificates are valid. The pins take their place in the mode `certificate`.
  ///   - allowsInvalidCertificates: for a development server that has signed its certificate itself, or whose certificate has
  ///     expired. A pin is needed all the same. Default false.
  ///   - validatesDomainName: whether the certificate has to be for the host's name or address. Default true.
  ///   - revocationLists: certificates that their authorities have revoked. If there is a list, there has to be one of the
  ///     authority that has signed the server's certificate, and it has to be up to date: otherwise the server is not trusted.
  ///     The certificates of authorities are looked up if there is a list for them. Nothing is fetched. Default: none, which
  ///     means that no certificate is looked up.
  ///   - check: a judgement of your own, after all others: what it throws makes the host untrusted. With
  ///     `allowsInvalidCertificates` and without `validatesDomainName`, it takes the place of most of them. Called in the
  ///     handshake, on the thread of the session, so it has to be short; not called for a connection that takes up an earlier
  ///     session of TLS. Default: nil.
  /// - Throws: `badSecurityPolicy` for pinning without pins, pins without pinning, and for invalid certificates without a pin
  ///   that are to be checked for a name, which anybody can put into a certificate.
  public init(
    _ pinningMode: PinningMode, pins: [Certificate] = [], keyPins: [PublicKeyPin] = [], roots: Roots = .system,
    allowsInvalidCertificates: Bool = false, validatesDomainName: Bool = true, revocationLists: [RevocationList] = [],
    check: Check? = nil
  ) throws(HTTPError) {
    func refusal(_ message: String) -> HTTPError { HTTPError(.badSecurityPolicy, "make policy", message: message) }
    if pinningMode == .none {
      guard pins.isEmpty, keyPins.isEmpty else {
        throw refusal("there are pins without pinning; choose the mode publicKey or certificate")
      }
      guard !allowsInvalidCertificates || !validatesDomainName else {
        throw refusal("a name in an invalid certificate says nothing; pin the certificate")
      }
    } else if pins.isEmpty, keyPins.isEmpty {
      throw refusal("there is pinning without pins; add a pin, or choose the mode none")
    } else if pinningMode == .certificate, !keyPins.isEmpty {
      throw refusal("the hash of a key is no certificate; choose the mode publicKey for keyPins")
    }
    self.pinningMode = pinningMode
    self.pins = pins
    self.keyPins = keyPins
    self.roots = roots
    self.allowsInvalidCertificates = allowsInvalidCertificates
    self.validatesDomainName = validatesDomainName
    self.revocationLists = revocationLists
    self.check = check
  }

  /// Whether a request without TLS would undo it.
  var requiresTLS: Bool { pinningMode != .none || check != nil }
}
