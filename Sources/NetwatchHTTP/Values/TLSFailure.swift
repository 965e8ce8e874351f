import FoundationEssentials
import NetwatchEventLoop

/// Why TLS with a server or a proxy has failed, in ``HTTPError/tlsFailure``: what is wrong with a certificate, or what the other
/// side has refused.
public struct TLSFailure: Hashable, Sendable {
  /// What a program may want to tell apart. More may come.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// The time of ``TLSFailure/validUntil`` has passed.
    public static let certificateExpired = Reason(description: "certificate expired")
    /// The time of ``TLSFailure/validFrom`` has not come. The clock of this machine may be slow.
    public static let certificateNotYetValid = Reason(description: "certificate not yet valid")
    /// The certificate is for other hosts.
    public static let nameMismatch = Reason(description: "name mismatch")
    /// The chain does not lead to a root that is trusted. The server may have left out a certificate of the chain.
    public static let unknownAuthority = Reason(description: "unknown authority")
    /// The server's certificate is signed with its own key, and is not a root that is trusted.
    public static let selfSigned = Reason(description: "self-signed certificate")
    /// None of the policy's pins is in the chain.
    public static let noPinMatched = Reason(description: "no pin matched")
    /// The chain is wrong in another way: a signature, a key that is too weak, a certificate that must not sign others.
    public static let certificateInvalid = Reason(description: "invalid certificate")
    /// The certificate, or that of an authority above it, is on one of the policy's ``SecurityPolicy/revocationLists``.
    public static let certificateRevoked = Reason(description: "certificate revoked")
    /// The policy has revocation lists, and none of them is of the authority that has signed the certificate, or it is out of
    /// date or not signed by it.
    public static let revocationUnknown = Reason(description: "revocation unknown")
    /// ``SecurityPolicy/check`` has thrown an error. The message has it.
    public static let checkFailed = Reason(description: "check failed")
    /// ``HTTPSessionConfiguration/refusesHostsWithoutPolicy``: no connection was made.
    public static let noPolicyForHost = Reason(description: "no policy for the host")
    /// The two sides have no version of TLS in common.
    public static let versionRefused = Reason(description: "TLS version refused")
    /// The server wants a client certificate, and the session has none for the host.
    public static let clientCertificateRequired = Reason(description: "client certificate required")
    /// The server does not accept the client certificate of the session.
    public static let clientCertificateRejected = Reason(description: "client certificate rejected")
    /// The other side has ended the handshake with an alert (RFC 8446, section 6.2) for another reason.
    public static let handshakeRefused = Reason(description: "handshake refused")
  }

  /// What a certificate says of itself.
  struct Facts: Hashable, Sendable {
    var subject = ""
    var issuer = ""
    var names: [String] = []
    var validFrom: Date?
    var validUntil: Date?
  }

  public let reason: Reason
  /// The name or the address of the server, or of the proxy, without a port.
  public let host: String
  /// One sentence about this failure, with names and dates.
  public let message: String
  private let facts: Facts

  /// The subject of the certificate that is at fault, as `CN=example.org,O=Example` (RFC 2253). Empty if no certificate is.
  public var subject: String { facts.subject }
  /// The authority that has signed the certificate, written like ``subject``.
  public var issuer: String { facts.issuer }
  /// The names and addresses that the certificate is for. At most 20 are listed.
  public var names: [String] { facts.names }
  /// When the certificate begins to be valid; nil if no certificate is at fault.
  public var validFrom: Date? { facts.validFrom }
  /// When the certificate ends to be valid; nil if no certificate is at fault.
  public var validUntil: Date? { facts.validUntil }

  init(_ reason: Reason, host: String, _ message: String, _ facts: Facts = Facts()) {
    self.reason = reason
    self.host = host
    self.message = message
    self.facts = facts
  }
}

extension TLSFailure: CustomStringConvertible {
  public var description: String { message }
}

extension TLSFailure.Facts {
  /// How people know the certificate: by its subject, or else by the names that it is for.
  var title: String {
    if !subject.isEmpty { return "'\(subject)'" }
    return names.isEmpty ? "without a name" : "for \(names.joined(separator: ", "))"
  }

  /// `2026-07-01T12:00:00Z`.
  static func text(of date: Date?) -> String {
    guard let date else { return "an unknown time" }
    let time = CivilTime(secondsSince1970: Int64(date.timeIntervalSince1970))
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(time.year)-\(two(time.month))-\(two(time.day))T\(two(time.hour)):\(two(time.minute)):\(two(time.second))Z"
  }
}

extension HTTPError {
  /// The failure of a request, or of a judgement.
  ///
  /// - Parameter code: Of libcurl; 0 if it was not asked.
  init(_ failure: TLSFailure, _ operation: String, code: CInt = 0) {
    let kind: Kind =
      switch failure.reason {
      case .clientCertificateRequired: .clientCertificateRequired
      case .clientCertificateRejected: .clientCertificateRejected
      case .versionRefused, .handshakeRefused: .secureConnectionFailed
      default: .serverCertificateUntrusted
      }
    self.init(kind, operation, code: code, message: failure.message)
    tlsFailure = failure
  }
}
