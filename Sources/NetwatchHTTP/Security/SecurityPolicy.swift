import FoundationEssentials

/// The rules by which a session trusts servers. A server that is not trusted receives nothing of a request: the task fails with
/// `serverCertificateUntrusted`.
public struct SecurityPolicy: Sendable {
  /// The ways to use pins.
  public enum PinningMode: Hashable, Sendable {
    /// No pinning: the roots and the name of the host decide.
    case none
    /// The chain must be valid, and one of its certificates must have a pinned key, from ``SecurityPolicy/pins`` or
    /// ``SecurityPolicy/keyPins``.
    case publicKey
    /// The pinned certificates are the only roots, and one of them must be in the chain. They can be certificates of roots, of
    /// intermediate authorities or of servers.
    case certificate
  }

  /// The root certificates that a chain may lead to.
  public enum Roots: Sendable {
    /// The root certificates of the system.
    case system
    /// Only these certificates.
    case certificates([X509Certificate])
  }

  /// A function that checks a chain after every other rule of the policy has accepted it. If it throws, the host is not
  /// trusted.
  ///
  /// - Parameters:
  ///   - chain: The verified chain: the server's certificate first, its root last.
  ///   - host: The name or the address of the server or of the proxy, in lower case and without a port. International names are
  ///     in ASCII, as they are looked up.
  public typealias Check = @Sendable (_ chain: [X509Certificate], _ host: String) throws -> Void

  /// The way in which the pins are used. Default: no pinning.
  public private(set) var pinningMode = PinningMode.none
  /// The pinned certificates. Default: none.
  public private(set) var pins: [X509Certificate] = []
  /// The keys that are pinned by their hash, in addition to those of ``pins``. Only used in the mode `publicKey`. Default:
  /// none.
  public private(set) var keyPins: [PublicKeyPin] = []
  /// The root certificates that a chain may lead to. Default: those of the system.
  public private(set) var roots = Roots.system
  /// Whether expired, self-signed and similar certificates are accepted. Default: false.
  public private(set) var allowsInvalidCertificates = false
  /// Whether the certificate must be for the name or address of the host. Default: true.
  public private(set) var validatesDomainName = true
  /// The lists of revoked certificates. Default: none, revocation is not checked.
  public private(set) var revocationLists: [RevocationList] = []
  /// An additional check after all others. Default: nil, none.
  public private(set) var check: Check?

  /// The default policy: the roots of the system, and the name of the host.
  public static let system = SecurityPolicy()

  private init() {}

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - pinningMode: The way in which the pins are used.
  ///   - pins: The pinned certificates. With pinning, there must be at least one pin of either kind. Default: none.
  ///   - keyPins: The hashes of pinned keys, for the mode `publicKey`. Also pin a backup key: if a server has to replace its
  ///     only pinned key because it was lost or stolen, it cannot be reached with this policy any more. Default: none.
  ///   - roots: The root certificates. In the mode `certificate`, the pins replace them. Default: those of the system.
  ///   - allowsInvalidCertificates: Whether self-signed and expired certificates are accepted, for a development server. A pin
  ///     is still required if there is pinning. In the mode `certificate` it has no effect, as in AFNetworking. Default: false.
  ///   - validatesDomainName: Whether the certificate must be for the name or address of the host. Default: true.
  ///   - revocationLists: The lists of revoked certificates. If there is any list, one must be from the authority that signed
  ///     the server's certificate, and it must be up to date. Otherwise the server is not trusted. Certificates of authorities
  ///     are checked if there is a list for them. Nothing is fetched. Default: none, revocation is not checked.
  ///   - check: An additional check, after all others. If it throws, the host is not trusted. With `allowsInvalidCertificates`
  ///     and without `validatesDomainName`, it replaces most other checks. It is called during the handshake, on the thread of
  ///     the session, so keep it short. It is not called for a connection that resumes an earlier TLS session. Default: nil.
  /// - Throws: `badSecurityPolicy` for pinning without pins, for pins without pinning, and for `keyPins` in the mode
  ///   `certificate`. Also for `allowsInvalidCertificates` with `validatesDomainName` but without a pin. Without a pin,
  ///   checking the name would prove nothing, because anybody can write any name into a certificate. So you must then also
  ///   switch that check off.
  public init(
    _ pinningMode: PinningMode, pins: [X509Certificate] = [], keyPins: [PublicKeyPin] = [], roots: Roots = .system,
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

  /// Whether a request without TLS would bypass the policy.
  var requiresTLS: Bool { pinningMode != .none || check != nil }
}
